//! `sort`: the order of a collection.
//!
//! Names parted by commas, the greatest first where a `-` stands before one. A member whose own
//! name begins with `-` can therefore only be sorted by with the greatest first.

use application::query::{SortKey, Subject};

use super::fault::{invalid, quoted};
use super::names::{Names, TIMES, split};
use super::parameters::Parameters;
use crate::problem::Problem;

/// Most keys of an order.
pub const MOST_KEYS: usize = 8;

/// Reads `sort`.
///
/// # Errors
/// 400 for a name that no item has, none at all, one given twice, or too many.
pub fn read(parameters: &Parameters<'_>, names: Names) -> Result<Vec<SortKey>, Problem> {
    let Some(written) = parameters.get("sort") else { return Ok(Vec::new()) };
    let mut keys: Vec<SortKey> = Vec::new();
    for written in split("sort", written, MOST_KEYS)? {
        let (descending, name) =
            written.strip_prefix('-').map_or((false, written), |name| (true, name));
        let subject = subject(names, name)?;
        if keys.iter().any(|key| key.subject == subject) {
            return Err(invalid(format!("`sort` names {} twice; name it once.", quoted(name))));
        }
        keys.push(SortKey { subject, descending });
    }
    Ok(keys)
}

fn subject(names: Names, name: &str) -> Result<Subject, Problem> {
    let [(created, _), (updated, _)] = TIMES;
    match TIMES.iter().find(|(known, _)| *known == name) {
        _ if name == "id" => Ok(Subject::Id),
        Some((_, time)) => Ok(time.clone()),
        None => names.member("sort", name, &["id", created, updated]),
    }
}

#[cfg(test)]
mod tests {
    use application::query::{SortKey, Subject};

    use super::{Names, Parameters, read};
    use crate::groups::named;

    fn order(query: &str, names: Names) -> Result<String, String> {
        let keys =
            Parameters::read(query, &["sort"]).and_then(|parameters| read(&parameters, names));
        let written = |key: &SortKey| {
            let name = match &key.subject {
                Subject::Member { name, .. } => name.to_string(),
                other => format!("{other:?}"),
            };
            format!("{}{name}", if key.descending { "-" } else { "" })
        };
        keys.map(|keys| keys.iter().map(written).collect::<Vec<_>>().join("|"))
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn keys_are_names_with_a_direction() {
        let proposals = Names::of(named("proposals"));
        for (query, expected) in [
            ("", Ok("")),
            ("sort=-start_date,project_title", Ok("-start_date|project_title")),
            ("sort=-start_date%2Cid", Ok("-start_date|Id")),
            ("sort=created_at,-updated_at", Ok("CreatedAt|-UpdatedAt")),
            ("sort=", Err("empty name")),
            ("sort=-", Err("empty name")),
            ("sort=start_date,", Err("empty name")),
            ("sort=start_date,-start_date", Err("twice")),
            ("sort=id,id", Err("twice")),
            ("sort=startdate", Err("did you mean `start_date`?")),
            ("sort=create_at", Err("did you mean `created_at`?")),
            ("sort=score", Err("no such field")),
            ("sort=a,b,c,d,e,f,g,h,i", Err("at most 8")),
        ] {
            match (order(query, proposals), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{query}"),
                (Err(found), Err(expected)) => {
                    assert!(found.contains(expected), "{query}: {found}");
                }
                (found, _) => panic!("{query}: {found:?}"),
            }
        }
    }

    #[test]
    fn open_groups_are_sorted_by_any_member() {
        for (query, expected) in [
            ("sort=x+y,-%E2%82%B1", Some("x y|-₱")),
            ("sort=--x", Some("--x")),
            ("sort=a,,b", None),
        ] {
            assert_eq!(
                order(query, Names::of(named("files"))).ok().as_deref(),
                expected,
                "{query}"
            );
        }
    }
}
