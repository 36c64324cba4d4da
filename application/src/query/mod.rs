//! Queries on a collection: the selection of items, their order, and the page to return.

mod filter;
mod page;
mod search;
mod sort;
pub mod tokenizer;

pub use filter::*;
pub use page::*;
pub use search::{Search, SearchError, SearchTerm};
pub use sort::*;
