//! YAML 1.2 as a tree with positions. Scalars keep their source form.
//!
//! The tree is built from parser events. A deserializer would stop at the first error and convert
//! numbers from their digits.

mod node;
mod scalar;
mod tree;

pub use node::{Content, MappingEntry, Node};
pub use scalar::Scalar;
pub(crate) use scalar::ScalarKind;
pub use tree::{Advice, MOST_VALUES, parse};
