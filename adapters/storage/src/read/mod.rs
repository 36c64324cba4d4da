//! Reads, from single-flight to the rows of a statement.

pub(crate) mod high_water_mark;
pub(crate) mod page_marks;
pub(crate) mod pages;
pub(crate) mod past;
pub(crate) mod reads;
pub(crate) mod single_flight;
