//! The display names of callers, beside the change log.

pub(crate) mod directory;
pub(crate) mod statements;
