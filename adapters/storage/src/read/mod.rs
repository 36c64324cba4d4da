//! Reads, from the queue that a request waits in to the rows of a statement.

pub(crate) mod high_water_mark;
pub(crate) mod page_marks;
pub(crate) mod past;
pub(crate) mod queue;
pub(crate) mod queued;
pub(crate) mod reads;
pub(crate) mod shared;
