//! YAML 1.2 as a tree that knows where everything stands, and keeps scalars as they are written.
//!
//! The parser gives events; the tree is made here rather than by a deserializer, which would stop
//! at the first error of a rule and make numbers of digits.

mod node;
mod scalar;
mod tree;

pub(crate) use node::{Content, Entry, Node};
pub(crate) use scalar::{Scalar, ScalarKind};
pub(crate) use tree::{MOST_VALUES, parse};
