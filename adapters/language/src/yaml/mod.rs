//! YAML 1.2 as a tree that knows where everything stands, and keeps scalars as they are written.
//!
//! The parser gives events; the tree is made here rather than by a deserializer, which would stop
//! at the first error of a rule and make numbers of digits.

mod node;
mod scalar;
mod tree;

pub use node::{Content, MappingEntry, Node};
pub use scalar::Scalar;
pub(crate) use scalar::ScalarKind;
pub use tree::{Advice, MOST_VALUES, parse};
