//! `fields` and `embed`: the visible part of items.

use std::sync::Arc;

use application::View;
use application::query::{MemberNames, Subject};
use domain::content::META;
use domain::{Collection, Relation, nearest};

use super::error::{fix, invalid, listed, quoted};
use super::names::{split, subject};
use super::parameters::{Parameters, values};
use crate::groups::Group;
use crate::problem::Result;

pub const MOST_FIELDS: usize = 100;

pub fn read(group: Group, parameters: &Parameters) -> Result<View> {
    let fields = parameters.get("fields").map(|written| fields(group, written)).transpose()?;
    let embed = parameters.get("embed").map(|written| embed(group, written)).transpose()?;
    Ok(View { fields, embed: embed.unwrap_or_default() })
}

pub fn embedded_collections(group: Group, query: &str) -> Vec<Collection> {
    let written = values(query, "embed");
    let relations = written.filter_map(|written| embed(group, &written).ok()).flatten();
    relations.map(|relation| relation.to).collect()
}

/// `id` is allowed, and always shown.
fn fields(group: Group, written: &str) -> Result<MemberNames> {
    // `_meta` shows the facts about content with any members.
    let facts = group.collection.spec().holds_content.then(|| META.into());
    let mut fields: Vec<Arc<str>> = facts.into_iter().collect();
    for name in split("fields", written, MOST_FIELDS)? {
        if let Subject::Member { name, .. } =
            subject(group, "fields", name, &[("id", Subject::Id)])?
            && !fields.contains(&name)
        {
            fields.push(name);
        }
    }
    Ok(fields.into())
}

fn embed(group: Group, written: &str) -> Result<Vec<Relation>> {
    let relations = group.collection.relations().collect::<Vec<_>>();
    let known = || relations.iter().map(|relation| relation.name);
    let mut embed = Vec::new();
    for name in written.split(',') {
        let Some(relation) = relations.iter().find(|relation| relation.name == name) else {
            let item = group.item_name;
            if relations.is_empty() {
                return Err(invalid(format!("`embed` is not supported for {item}. Omit it.")));
            }
            let fix = fix(nearest(name, known()), || format!("Use {}.", listed(known())));
            let name = quoted(name);
            return Err(invalid(format!("Unknown relation {name} of {item} in `embed`. {fix}")));
        };
        if embed.contains(relation) {
            return Err(invalid(format!("`embed` names `{name}` more than once. Name it once.")));
        }
        embed.push(*relation);
    }
    Ok(embed)
}
