//! `sort`: names separated by commas; a `-` before a name reverses its order.
//!
//! A member whose name begins with `-` can therefore only sort in descending order.

use application::query::{SortKey, Subject};

use super::error::{invalid, quoted};
use super::names::{TIMES, split, subject};
use super::parameters::Parameters;
use crate::groups::Group;
use crate::problem::Problem;

pub const MOST_KEYS: usize = 8;

pub fn read(parameters: &Parameters, group: Group) -> Result<Vec<SortKey>, Problem> {
    let Some(written) = parameters.get("sort") else { return Ok(Vec::new()) };
    let [created, updated] = TIMES;
    let others = [("id", Subject::Id), created, updated];
    let mut keys: Vec<SortKey> = Vec::new();
    for key in split("sort", written, MOST_KEYS)? {
        let (descending, name) = key.strip_prefix('-').map_or((false, key), |name| (true, name));
        let subject = subject(group, "sort", name, &others)?;
        if keys.iter().any(|key| key.subject == subject) {
            return Err(invalid(format!(
                "`sort` names {} more than once. Name it once.",
                quoted(name)
            )));
        }
        keys.push(SortKey { subject, descending });
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use application::query::{SortKey, Subject};

    use super::{Parameters, read};
    use crate::groups::{Group, named};

    fn order(query: &str, group: Group) -> Result<String, String> {
        let keys =
            Parameters::read(query, &["sort"]).and_then(|parameters| read(&parameters, group));
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
        let proposals = named("proposals");
        for (query, expected) in [
            ("", Ok("")),
            ("sort=-start_date,project_title", Ok("-start_date|project_title")),
            ("sort=-start_date%2Cid", Ok("-start_date|Id")),
            ("sort=created_at,-updated_at", Ok("CreatedAt|-UpdatedAt")),
            ("sort=", Err("empty name")),
            ("sort=-", Err("empty name")),
            ("sort=start_date,", Err("empty name")),
            ("sort=start_date,-start_date", Err("more than once")),
            ("sort=id,id", Err("more than once")),
            ("sort=startdate", Err("Did you mean `start_date`?")),
            ("sort=create_at", Err("Did you mean `created_at`?")),
            ("sort=-title", Err("Did you mean `project_title`?")),
            ("sort=score", Err("Unknown field")),
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
            assert_eq!(order(query, named("files")).ok().as_deref(), expected, "{query}");
        }
    }
}
