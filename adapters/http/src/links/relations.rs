//! The service's own link relations; IANA describes registered ones.

use std::collections::BTreeMap;

use domain::{Collection, RelationKind};

use crate::groups::{GROUPS, GroupSpec};

/// Links without a table row.
const OTHERS: [(&str, &str); 6] = [
    (
        "continues",
        "Links an item to the one it continues: a second phase, a resubmission, an amended cash programme. Created by POST on the item to continue.",
    ),
    ("continued-by", "Links an item to the items that continue it, oldest first. Always a list."),
    (
        "diff",
        "Links a version of an item to its difference from the previous version: a JSON Patch (RFC 6902).",
    ),
    ("group", "Links a business rule to the collection it applies to."),
    ("rules", "Links the entry point to the business rules in force."),
    ("changes", "Links the entry point to the change log of all groups."),
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
                    format!("Links {from} to the {} that belong to it.", to.items_name)
                }
                RelationKind::Parent => format!("Links {from} to the {noun} it belongs to."),
                RelationKind::Reference(index) => {
                    let member = collection.spec().references[index].member;
                    format!(
                        "Links {from} to the {noun} in its `{member}`. Present while the {noun} exists."
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
            ("program", "Links a proposal to the proposed programme in its `program_id`."),
            ("proposal", "Links a library item to the proposal it belongs to."),
            ("proposal", "Links a file description to the proposal in its `proposal_id`."),
            ("lib", "Links a proposal to the library items that belong to it."),
            ("lib", "From the entry point: Library items"),
            ("files", "From the entry point: Descriptions of attachments"),
            ("diff", "RFC 6902"),
        ] {
            assert!(explained[name].contains(part), "{name}: {}", explained[name]);
        }
    }
}
