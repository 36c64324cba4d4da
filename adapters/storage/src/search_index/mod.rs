//! The full-text index, which follows the change log.

pub(crate) mod amounts;
pub(crate) mod indexed_words;
pub(crate) mod indexer;
mod pace;
pub(crate) mod progress;
pub(crate) mod step;
pub(crate) mod value_counts;
