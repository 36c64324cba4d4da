//! The parameters of the change log and of an item's history, and the number of a version.

use domain::{Collection, ItemId, Version, nearest};

use super::change_cursor::{self, ChangeCursor};
use super::error::{fix, invalid, listed, quoted};
use super::known;
use super::parameters::Parameters;
use crate::groups::GroupOperation;
use crate::problem::Problem;

/// The parameters of the change log.
pub const CHANGES_PARAMETERS: &[&str] = &["after", "group", "page_size"];

/// The parameters of its stream.
pub const STREAM_PARAMETERS: &[&str] = &["group"];

/// The query of the change log.
#[derive(Clone, Copy, Debug)]
pub struct ChangesQuery {
    /// The change after which the page begins; the start of the log otherwise.
    pub after: Option<ChangeCursor>,
    /// The only collection whose changes are shown.
    pub collection: Option<Collection>,
    /// Most changes on the page.
    pub page_size: u64,
}

impl ChangesQuery {
    pub fn read(query: &str) -> Result<Self, Problem> {
        let parameters = Parameters::read(query, CHANGES_PARAMETERS)?;
        let after = parameters.get("after").map(|cursor| {
            change_cursor::read(cursor).ok_or_else(|| {
                invalid("`after` is no cursor that this service gave; take the `cursor` of a change, follow `_links.next`, or begin without it.")
            })
        });
        let page_size = parameters.page_size()?;
        Ok(Self { after: after.transpose()?, collection: collection(&parameters)?, page_size })
    }

    /// Reads the query of a stream: the only collection whose changes are sent.
    pub fn group(query: &str) -> Result<Option<Collection>, Problem> {
        collection(&Parameters::read(query, STREAM_PARAMETERS)?)
    }
}

fn collection(parameters: &Parameters) -> Result<Option<Collection>, Problem> {
    let Some(group) = parameters.get("group") else { return Ok(None) };
    Collection::named(group).map(Some).ok_or_else(|| {
        let nearest = nearest(group, Collection::names());
        let fix = fix(nearest, || format!("there are {}.", listed(Collection::names())));
        invalid(format!("`group` names {}, which is none; {fix}", quoted(group)))
    })
}

/// The query of an item's versions.
#[derive(Clone, Copy, Debug)]
pub struct VersionsQuery {
    /// 1-based page number.
    pub page: u64,
    /// Versions on a page.
    pub page_size: u64,
}

impl VersionsQuery {
    pub fn read(query: &str) -> Result<Self, Problem> {
        let parameters = Parameters::read(query, known(GroupOperation::ListVersions))?;
        Ok(Self { page: parameters.page()?, page_size: parameters.page_size()? })
    }
}

/// Reads the query of a difference: the version it begins at, if one is given.
pub fn difference_from(query: &str) -> Result<Option<Version>, Problem> {
    let parameters = Parameters::read(query, known(GroupOperation::Compare))?;
    parameters.get("from").map(|_| named_version(&parameters, "from")).transpose()
}

/// Reads a parameter that names a version.
fn named_version(parameters: &Parameters, name: &str) -> Result<Version, Problem> {
    let number = parameters.get(name).and_then(version);
    number.ok_or_else(|| invalid(format!("`{name}` takes the number of a version, from 1.")))
}

/// The item and the rule that the playground begins with.
pub struct WhatToTry {
    pub collection: Option<Collection>,
    /// An item of the group.
    pub item: Option<ItemId>,
    /// The id of a rule in a file.
    pub rule: Option<String>,
}

/// Reads the query of the playground.
pub fn what_to_try(query: &str) -> Result<WhatToTry, Problem> {
    let parameters = Parameters::read(query, &["group", "item", "rule"])?;
    let item =
        parameters.get("item").map(|id| ItemId::parse(id).ok_or_else(Problem::item_not_found));
    Ok(WhatToTry {
        collection: collection(&parameters)?,
        item: item.transpose()?,
        rule: parameters.get("rule").map(str::to_owned),
    })
}

/// Reads the query of the page that compares two versions: `from` and `to`.
pub fn two_versions(query: &str) -> Result<[Version; 2], Problem> {
    let parameters = Parameters::read(query, &["from", "to"])?;
    Ok([named_version(&parameters, "from")?, named_version(&parameters, "to")?])
}

/// The version a string names: digits alone, from 1, without leading zeros.
pub fn version(text: &str) -> Option<Version> {
    let number = text.parse::<i64>().ok()?;
    (number > 0 && number.to_string() == text).then(|| Version::from_number(number))
}

#[cfg(test)]
mod tests {
    use super::{difference_from, version};

    #[test]
    fn versions_are_numbers_from_1() {
        for (text, expected) in [
            ("1", Some(1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("0", None),
            ("-1", None),
            ("+1", None),
            ("01", None),
            ("", None),
            ("9223372036854775808", None),
        ] {
            assert_eq!(version(text).map(domain::Version::number), expected, "{text}");
        }
        assert_eq!(difference_from("").ok(), Some(None));
        assert!(difference_from("from=x").is_err() && difference_from("to=1").is_err());
    }
}
