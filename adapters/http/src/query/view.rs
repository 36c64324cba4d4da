//! `fields` and `embed`: the visible part of items.

use std::sync::Arc;

use application::View;
use application::query::{MemberNames, Subject};
use domain::{Collection, Relation, nearest};

use super::error::{fix, invalid, listed, quoted};
use super::names::{split, subject};
use super::parameters::{Parameters, values};
use crate::groups::Group;
use crate::problem::Problem;

pub const MOST_FIELDS: usize = 100;

pub fn read(group: Group, parameters: &Parameters) -> Result<View, Problem> {
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
fn fields(group: Group, written: &str) -> Result<MemberNames, Problem> {
    let mut fields: Vec<Arc<str>> = Vec::new();
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

fn embed(group: Group, written: &str) -> Result<Vec<Relation>, Problem> {
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

#[cfg(test)]
mod tests {

    use super::{Parameters, read};
    use crate::groups::{Group, named};

    fn fields(group: Group, query: &str) -> Option<String> {
        let view = Parameters::read(query, &["fields"])
            .and_then(|parameters| read(group, &parameters))
            .ok()?;
        Some(view.fields.map_or_else(|| "all".to_owned(), |names| names.join("|")))
    }

    fn embedded(group: Group, query: &str) -> Result<Vec<&'static str>, String> {
        let view =
            Parameters::read(query, &["embed"]).and_then(|parameters| read(group, &parameters));
        view.map(|view| view.embed.iter().map(|relation| relation.name).collect())
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn fields_are_picked_by_name() {
        for (query, expected) in [
            ("", Some("all")),
            ("fields=project_title,start_date", Some("project_title|start_date")),
            ("fields=id", Some("")),
            ("fields=start_date,id,start_date", Some("start_date")),
            ("fields=created_at", None),
            ("fields=_meta", None),
            ("fields=", None),
            ("fields=start_date,", None),
        ] {
            assert_eq!(fields(named("proposals"), query).as_deref(), expected, "{query}");
        }
        assert_eq!(fields(named("files"), "fields=x%20y,nothing").as_deref(), Some("x y|nothing"));
        assert_eq!(fields(named("files"), &format!("fields={}", "a,".repeat(100))), None);
    }

    #[test]
    fn groups_embed_what_they_know() {
        assert_eq!(embedded(named("proposals"), "embed=program,lib"), Ok(vec!["program", "lib"]));
        assert_eq!(embedded(named("lib"), "embed=proposal"), Ok(vec!["proposal"]));
        assert_eq!(embedded(named("proposals lib"), "embed=proposal"), Ok(vec!["proposal"]));
        for (found, expected) in [
            (embedded(named("proposals"), "embed=programme"), "Did you mean `program`?"),
            (embedded(named("proposals"), "embed=files"), "Use `lib` or `program`."),
            (embedded(named("proposals"), "embed="), "Use `lib`"),
            (embedded(named("proposals"), "embed=lib,lib"), "more than once"),
            (embedded(named("statuses"), "embed=lib"), "not supported"),
        ] {
            assert!(found.clone().is_err_and(|error| error.contains(expected)), "{found:?}");
        }
    }
}
