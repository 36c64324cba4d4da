//! The service's own link relations; IANA describes registered ones.

use std::collections::BTreeMap;

use domain::{Collection, RelationKind};

use crate::groups::{GROUPS, GroupSpec};

/// Links without a table row.
const OTHERS: [(&str, &str); 6] = [
    (
        "continues",
        "From an item to the one it continues: a second phase, a resubmission, an amended cash programme. Made by POST on the item to continue.",
    ),
    ("continued-by", "From an item to those that continue it, oldest first: always a list."),
    (
        "diff",
        "From a version of an item to the difference between the one before and it: a JSON Patch (RFC 6902).",
    ),
    ("group", "From a business rule to the collection it is about."),
    ("rules", "From the entry point to the business rules that are in force."),
    ("changes", "From the entry point to the log of every write of every group."),
];

type Explained = BTreeMap<&'static str, String>;

pub fn relations() -> Explained {
    let mut explained: Explained =
        OTHERS.into_iter().map(|(name, sentence)| (name, sentence.to_owned())).collect();
    for collection in Collection::all() {
        let from = GroupSpec::of(collection).item_name;
        for relation in collection.relations() {
            let to = GroupSpec::of(relation.to);
            let noun = to.noun();
            let sentence = match relation.kind {
                RelationKind::Children => {
                    format!("From {from} to the {} that belong to it.", to.items_name)
                }
                RelationKind::Parent => format!("From {from} to the {noun} it belongs to."),
                RelationKind::Reference(index) => {
                    let member = collection.spec().references[index].member;
                    format!(
                        "From {from} to the {noun} that its `{member}` names. It is there while the {noun} is."
                    )
                }
            };
            explain(&mut explained, relation.name, &sentence);
        }
    }
    explained
}

/// Includes group names, which the entry point uses as relations.
pub fn explained() -> Explained {
    let mut explained = relations();
    for group in GROUPS.iter().filter(|group| !group.is_nested()) {
        let sentence = format!("From the entry point: {}", group.description);
        explain(&mut explained, group.name, &sentence);
    }
    explained
}

fn explain(explained: &mut Explained, name: &'static str, sentence: &str) {
    let text = explained.entry(name).or_default();
    text.push_str(if text.is_empty() { "" } else { " " });
    text.push_str(sentence);
}

#[cfg(test)]
mod tests {
    use super::explained;

    #[test]
    fn relations_of_the_tables_are_explained() {
        let explained = explained();
        for (name, part) in [
            ("program", "From a proposal to the proposed programme that its `program_id` names."),
            ("proposal", "From a library item to the proposal it belongs to."),
            ("proposal", "From a file description to the proposal that its `proposal_id` names."),
            ("lib", "From a proposal to the library items that belong to it."),
            ("lib", "From the entry point: Library items"),
            ("files", "From the entry point: Descriptions of attachments"),
            ("diff", "RFC 6902"),
        ] {
            assert!(explained[name].contains(part), "{name}: {}", explained[name]);
        }
    }
}
