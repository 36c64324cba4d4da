//! What a reader asks of a collection: which of its items, in which order, which part of them.

mod filter;
mod page;
mod search;
mod sort;
pub mod tokenizer;

pub use filter::*;
pub use page::*;
pub use search::{Search, SearchError, Term};
pub use sort::*;
