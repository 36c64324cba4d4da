//! Reads that wait at the same time share a statement.

pub(crate) mod queue;
