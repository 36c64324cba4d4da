//! Writes as data, in a queue, with the reads they were decided on.

pub(crate) mod batch;
pub(crate) mod command;
pub(crate) mod condition;
pub(crate) mod connection;
pub(crate) mod queue;
pub(crate) mod read_set;
pub(crate) mod row;
pub(crate) mod statements;
pub(crate) mod writes;
