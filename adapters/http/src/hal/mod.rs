//! Representations in HAL (draft-kelly-json-hal), written straight into the response.

mod collection;
mod item;
mod versions;
mod writer;

#[cfg(test)]
mod tests;

pub use collection::{PageView, collection, collection_size};
pub use item::{ItemView, Snapshot, embedded_items, item, item_size};
pub use versions::versions;
