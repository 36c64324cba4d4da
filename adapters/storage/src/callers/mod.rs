//! The display names of callers, stored separately from the change log.

pub(crate) mod directory;
pub(crate) mod statements;
