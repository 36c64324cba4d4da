//! JSON text (RFC 8259) that keeps member order and every digit of a number.
//!
//! General-purpose readers lose one of the two, accept duplicate names, or build a tree many times
//! the size of the text. [`read()`] makes one pass and yields compact text. A [`Value`] is a view
//! into it and decodes on demand.

mod json_patch;
mod members;
mod merge_patch;
mod number;
mod pointer;
mod read;
mod value;
mod write;

#[cfg(test)]
mod tests;

pub use json_patch::json_patch;
pub use members::{Members, Unstorable, push_member};
pub use merge_patch::merge_patch;
pub use number::is_storable_number;
pub use pointer::{Pointer, shortened};
pub use read::{Entry, MAX_DEPTH, Read, read, read_within};
pub use value::{Kind, Value, decode};
pub use write::{encode_string, escape_name, push_string};

use thiserror::Error;

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {detail}")]
pub struct JsonError {
    pub kind: JsonErrorKind,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    Empty,
    NotUtf8,
    Malformed,
    TooDeep,
    /// A duplicate name. RFC 8259 section 4 leaves its meaning open.
    DuplicateMember,
    /// An escaped surrogate without its partner (RFC 8259 section 8.2).
    LoneSurrogate,
}
