//! `sort`: names separated by commas; a `-` before a name reverses its order.
//!
//! A member whose name begins with `-` can therefore only sort in descending order.

use application::query::{SortKey, Subject};

use super::error::{invalid, quoted};
use super::names::{TIMES, split, subject};
use super::parameters::Parameters;
use crate::groups::Group;
use crate::problem::Result;

pub const MOST_KEYS: usize = 8;

pub fn read(parameters: &Parameters, group: Group) -> Result<Vec<SortKey>> {
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
    use application::query::Subject;

    use super::{MOST_KEYS, Parameters, read};
    use crate::groups::named;

    #[test]
    fn a_sort_has_at_most_8_keys_each_with_a_direction() {
        let keys = |group: &str, query: &str| {
            let parameters = Parameters::read(query, &["sort"]).ok().unwrap();
            read(&parameters, named(group)).map_err(|problem| problem.to_string())
        };
        let odd = keys("files", "sort=--x").unwrap().remove(0);
        assert_eq!(odd.subject, Subject::Member { name: "-x".into(), kind: None });
        assert!(odd.descending);
        assert!(keys("proposals", "sort=score").unwrap_err().contains("Unknown field"));
        assert_eq!(keys("files", "sort=a,b,c,d,e,f,g,h").unwrap().len(), MOST_KEYS);
        assert!(keys("files", "sort=a,b,c,d,e,f,g,h,i").unwrap_err().contains("at most 8"));
    }
}
