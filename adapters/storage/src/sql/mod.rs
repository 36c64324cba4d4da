//! Statements as strings, and the way from their rows to values.

pub(crate) mod change_log;
pub(crate) mod cost;
pub(crate) mod dialect;
pub(crate) mod filter;
pub(crate) mod full_text;
pub(crate) mod idempotency;
pub(crate) mod indexed_columns;
pub(crate) mod json_member;
pub(crate) mod lookup;
pub(crate) mod mask;
pub(crate) mod member_counts;
pub(crate) mod page;
pub(crate) mod past;
pub(crate) mod predicate;
pub(crate) mod references;
pub(crate) mod row_mapping;
pub(crate) mod selection;
pub(crate) mod sort;
pub(crate) mod sql_text;
pub(crate) mod statements;
