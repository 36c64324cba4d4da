//! The page that compares two versions of an item by member.

use std::collections::HashMap;

use askama::Template;
use domain::Value;
use poem::Request;

use super::cells::{self, ShownValue};
use super::page::{Layout, render};
use super::titles::named_item;
use super::{Explorer, target};
use crate::endpoints::resources::work_on_both;
use crate::groups::Group;
use crate::problem::Result;
use crate::query::{invalid, query_of, two_versions};
use crate::request::caller::caller_of;

#[derive(Template)]
#[template(path = "explorer/difference.html")]
struct DifferencePage<'a> {
    layout: Layout<'a>,
    own: String,
    from: i64,
    to: i64,
    members: Vec<ChangedMember>,
    unchanged: usize,
}

/// A name, and the values before and after with their marks.
type ChangedMember = (String, [(ShownValue, &'static str); 2]);

impl Explorer {
    pub(super) async fn show_difference(&self, group: Group, request: &Request) -> Result<String> {
        let [from, to] = two_versions(query_of(request))?;
        if from == to {
            return Err(invalid("`from` and `to` must be different versions."));
        }
        let item = target(request)?;
        let service = self.service(group)?;
        let read = || service.versions_to_compare(caller_of(request), item, Some(from), to);
        let ([before, after], _memory) = self.context.memory.read(None, read, work_on_both).await?;
        cells::require_small(&before)?;
        cells::require_small(&after)?;
        let (mut members, unchanged) = compare(&before, &after);
        let own = self.links.item(group.collection, item.id);
        let name = ShownValue::of(Value::from_encoded(&after).member(group.columns[0])).short();
        let name = if name.is_empty() { group.item_name } else { &name };
        let title = format!("Versions {} and {} of {name}", from.number(), to.number());
        let path = format!("{}/{}/versions/{}/diff", group.path, item.id, to.number());
        let command = self.command(&path, &format!("from={}", from.number()));
        let layout = self.layout(request, title, group.collection.name(), command);
        let named = |(member, values): &ChangedMember| {
            let ids = values.iter().filter_map(|(value, _)| named_item(group, member, value));
            ids.collect::<Vec<_>>()
        };
        let named: Vec<_> = members.iter().flat_map(named).collect();
        let titles = self.titles(caller_of(request), named).await?;
        for (member, values) in &mut members {
            for (value, _) in values {
                let title = named_item(group, member, value).and_then(|(of, id)| titles.of(of, id));
                if let Some(title) = title {
                    *value = ShownValue::Simple(title.to_owned());
                }
            }
            *member = layout.reader.label(group.collection, member);
        }
        render(&DifferencePage {
            layout,
            own,
            from: from.number(),
            to: to.number(),
            members,
            unchanged,
        })
    }
}

fn compare(before: &str, after: &str) -> (Vec<ChangedMember>, usize) {
    let entries = |members| Value::from_encoded(members).entries().into_iter().flatten();
    let old: HashMap<_, _> = entries(before).collect();
    let new: HashMap<_, _> = entries(after).collect();
    let removed = entries(before).filter(|(name, _)| !new.contains_key(name));
    let (mut changed, mut unchanged) = (Vec::new(), 0);
    for (name, _) in entries(after).chain(removed) {
        let [before, after] = [&old, &new].map(|members| members.get(name).copied());
        if before.map(Value::encoded) == after.map(Value::encoded) {
            unchanged += 1;
        } else {
            let values = [(ShownValue::of(before), "removed"), (ShownValue::of(after), "added")];
            changed.push((cells::name(name), values));
        }
    }
    (changed, unchanged)
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn differing_members_are_found_in_any_order() {
        let (changed, unchanged) =
            compare(r#"{"a":1,"b":"x","c":[1]}"#, r#"{"c":[1],"b":"y","d":null,"e":2}"#);
        let changed: Vec<_> = changed
            .iter()
            .map(|(name, [(before, _), (after, _)])| {
                format!("{name} {}→{}", before.short(), after.short())
            })
            .collect();
        assert_eq!((changed.join(","), unchanged), ("b x→y,d →,e →2,a 1→".to_owned(), 1));
    }
}
