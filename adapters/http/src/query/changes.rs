//! The parameters of the change log.

use application::Sequence;
use domain::{Collection, nearest};

use super::change_cursor;
use super::fault::{fix, invalid, listed, quoted};
use super::paging;
use super::parameters::Parameters;
use crate::problem::Problem;

/// The parameters of the change log.
pub const CHANGES_PARAMETERS: &[&str] = &["after", "group", "page_size"];

/// The parameters of its stream.
pub const STREAM_PARAMETERS: &[&str] = &["group"];

/// Which changes are asked for.
#[derive(Clone, Copy, Debug)]
pub struct ChangesQuery {
    /// Those after this one; all of them otherwise.
    pub after: Option<Sequence>,
    /// Those of this collection alone.
    pub collection: Option<Collection>,
    /// At most so many.
    pub page_size: u64,
}

impl ChangesQuery {
    /// Reads the query of a stream: the collection whose changes are wanted, if not all.
    ///
    /// # Errors
    /// 400 for what is unknown, given twice or makes no sense.
    pub fn group(query: &str) -> Result<Option<Collection>, Problem> {
        Parameters::read(query, STREAM_PARAMETERS)?.get("group").map(collection).transpose()
    }

    /// Reads a query.
    ///
    /// # Errors
    /// 400 for what is unknown, given twice or makes no sense.
    pub fn read(query: &str) -> Result<Self, Problem> {
        let parameters = Parameters::read(query, CHANGES_PARAMETERS)?;
        Ok(Self {
            after: parameters.get("after").map(change_cursor::read).transpose()?,
            collection: parameters.get("group").map(collection).transpose()?,
            page_size: paging::page_size(&parameters)?,
        })
    }
}

fn collection(group: &str) -> Result<Collection, Problem> {
    Collection::named(group).ok_or_else(|| {
        let nearest = nearest(group, Collection::all().map(Collection::name));
        let fix = fix(nearest, || format!("there are {}.", listed(Collection::names())));
        invalid(format!("`group` names {}, which is none; {fix}", quoted(group)))
    })
}
