use application::query::Selection;
use application::{ImportMode, PageRequest};

use super::collection::search;
use super::parameters::{MAX_PAGE_SIZE, Parameters};
use super::{filter, sort, view};
use crate::groups::Group;
use crate::problem::Result;

pub const EXPORT_PARAMETERS: &[&str] = &["filter", "sort", "fields", "q", "bom"];

pub const IMPORT_PARAMETERS: &[&str] = &["mode", "upsert", "dry_run"];

/// The first is the default.
pub const MODES: [&str; 2] = ["all", "each"];

#[derive(Debug)]
pub struct ExportQuery {
    pub request: PageRequest,
    /// True if a CSV file begins with a byte order mark.
    pub has_bom: bool,
}

impl ExportQuery {
    pub fn read(group: Group, raw: &str) -> Result<Self> {
        let parameters = Parameters::read(raw, EXPORT_PARAMETERS)?;
        let mut request = PageRequest::plain(1, MAX_PAGE_SIZE);
        let filters = filter::read(&parameters.filters, group)?;
        request.selection = Selection { filters, search: search(&parameters)? };
        request.order = sort::read(&parameters, group)?;
        request.is_counted = false;
        request.view = view::read(group, &parameters)?;
        Ok(Self { request, has_bom: parameters.is_on("bom")? })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ImportQuery {
    pub mode: ImportMode,
    pub is_upsert: bool,
    pub is_dry_run: bool,
}

impl ImportQuery {
    pub fn read(raw: &str) -> Result<Self> {
        let parameters = Parameters::read(raw, IMPORT_PARAMETERS)?;
        let is_of_all = parameters.choice("mode", MODES)?.unwrap_or(true);
        Ok(Self {
            mode: if is_of_all { ImportMode::All } else { ImportMode::Each },
            is_upsert: parameters.is_on("upsert")?,
            is_dry_run: parameters.is_on("dry_run")?,
        })
    }
}
