//! Items and pages in memory, used only while they are known to be current.

pub(crate) mod cached_reads;
pub(crate) mod item_cache;
pub(crate) mod page_cache;
pub(crate) mod revision_cache;
pub(crate) mod write_through_cache;
