//! JSON text (RFC 8259) that keeps what its author wrote: member order, and every digit of a
//! number.
//!
//! The general-purpose readers lose one of the two, accept duplicate member names, or build a tree
//! many times the size of the text. [`read()`] makes one pass, refuses what cannot be kept apart
//! later, and yields compact text; a [`Value`] is a view into it that decodes only what is asked
//! for.

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
pub use members::{Members, Unstorable};
pub use merge_patch::merge_patch;
pub use number::is_storable_number;
pub use pointer::{Pointer, shortened};
pub use read::{Entry, MAX_DEPTH, Read, read, read_within};
pub use value::{Kind, Value};
pub use write::{encode_string, push_string};

use thiserror::Error;

/// Why a string is not readable as JSON, and where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line}, column {column}: {detail}")]
pub struct JsonError {
    /// The kind of error.
    pub kind: JsonErrorKind,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// A description, for people, of what was found and what was expected.
    pub detail: String,
}

/// The sorts of unreadable JSON a client can be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// Nothing but white space.
    Empty,
    /// Not UTF-8 (RFC 8259 section 8.1).
    NotUtf8,
    /// Against the grammar.
    Malformed,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A member name twice in one object (RFC 8259 section 4 leaves the meaning open; we refuse
    /// it).
    DuplicateMember,
    /// An escaped surrogate without its partner: no Unicode text (RFC 8259 section 8.2).
    LoneSurrogate,
}
