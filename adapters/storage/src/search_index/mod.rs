//! The full-text index, which follows the change log.

mod amounts;
mod columns;
pub(crate) mod indexed_words;
pub(crate) mod indexer;
mod pace;
pub(crate) mod step;
pub(crate) mod value_counts;
