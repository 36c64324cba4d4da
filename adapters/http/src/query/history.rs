use application::PointInTime;
use domain::{Collection, ItemId, Version, nearest};

use super::change_cursor::{self, ChangeCursor};
use super::collection::as_of;
use super::error::{fix, invalid, listed, quoted};
use super::known;
use super::parameters::Parameters;
use crate::groups::GroupOperation;
use crate::problem::{Problem, Result};

pub const CHANGES_PARAMETERS: &[&str] = &["after", "group", "page_size"];

pub const STREAM_PARAMETERS: &[&str] = &["group"];

#[derive(Clone, Copy, Debug)]
pub struct ChangesQuery {
    pub after: Option<ChangeCursor>,
    pub collection: Option<Collection>,
    pub page_size: u64,
}

impl ChangesQuery {
    pub fn read(query: &str) -> Result<Self> {
        let parameters = Parameters::read(query, CHANGES_PARAMETERS)?;
        let after = parameters.get("after").map(|cursor| {
            change_cursor::read(cursor).ok_or_else(|| {
                invalid("Invalid cursor in `after`. Use the `cursor` of a change, follow `_links.next`, or omit `after`.")
            })
        });
        let page_size = parameters.page_size()?;
        Ok(Self { after: after.transpose()?, collection: collection(&parameters)?, page_size })
    }

    pub fn group(query: &str) -> Result<Option<Collection>> {
        collection(&Parameters::read(query, STREAM_PARAMETERS)?)
    }
}

fn collection(parameters: &Parameters) -> Result<Option<Collection>> {
    let Some(group) = parameters.get("group") else { return Ok(None) };
    Collection::named(group).map(Some).ok_or_else(|| {
        let nearest = nearest(group, Collection::names());
        let fix = fix(nearest, || format!("Use {}.", listed(Collection::names())));
        invalid(format!("Unknown group {} in `group`. {fix}", quoted(group)))
    })
}

#[derive(Clone, Copy, Debug)]
pub struct VersionsQuery {
    pub page: u64,
    pub page_size: u64,
}

impl VersionsQuery {
    pub fn read(query: &str) -> Result<Self> {
        let parameters = Parameters::read(query, known(GroupOperation::ListVersions))?;
        Ok(Self { page: parameters.page()?, page_size: parameters.page_size()? })
    }
}

pub fn difference_from(query: &str) -> Result<Option<Version>> {
    let parameters = Parameters::read(query, known(GroupOperation::Compare))?;
    parameters.get("from").map(|_| named_version(&parameters, "from")).transpose()
}

fn named_version(parameters: &Parameters, name: &str) -> Result<Version> {
    let number = parameters.get(name).and_then(version);
    number.ok_or_else(|| invalid(format!("`{name}` must be a version number, from 1.")))
}

/// The moment of a dossier.
pub fn dossier_moment(query: &str) -> Result<PointInTime> {
    let parameters = Parameters::read(query, known(GroupOperation::GetDossier))?;
    match (as_of(&parameters)?, parameters.get("version")) {
        (None, None) => Ok(PointInTime::Now),
        (Some(time), None) => Ok(PointInTime::At(time)),
        (None, Some(_)) => Ok(PointInTime::Of(named_version(&parameters, "version")?)),
        (Some(_), Some(_)) => {
            Err(invalid("`version` cannot be combined with `as_of`. Use one of them."))
        }
    }
}

pub struct WhatToTry {
    pub collection: Option<Collection>,
    pub item: Option<ItemId>,
    pub rule: Option<String>,
}

pub fn what_to_try(query: &str) -> Result<WhatToTry> {
    let parameters = Parameters::read(query, &["group", "item", "rule"])?;
    let item =
        parameters.get("item").map(|id| ItemId::parse(id).ok_or_else(Problem::item_not_found));
    Ok(WhatToTry {
        collection: collection(&parameters)?,
        item: item.transpose()?,
        rule: parameters.get("rule").map(str::to_owned),
    })
}

pub fn two_versions(query: &str) -> Result<[Version; 2]> {
    let parameters = Parameters::read(query, &["from", "to"])?;
    Ok([named_version(&parameters, "from")?, named_version(&parameters, "to")?])
}

/// Digits only, from 1, without leading zeros.
pub fn version(text: &str) -> Option<Version> {
    let number = text.parse::<i64>().ok()?;
    (number > 0 && number.to_string() == text).then(|| Version::from_number(number))
}
