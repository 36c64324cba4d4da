//! A value of a YAML document and its place.

use std::sync::Arc;

use super::Scalar;
use crate::error::Location;

/// A value. Aliases share the value they stand for.
#[derive(Debug)]
pub(crate) struct Node {
    /// Where it begins.
    pub place: Location,
    /// The content of the value.
    pub content: Content,
    /// How many levels of lists and mappings it has.
    pub depth: usize,
}

/// The content of a value.
#[derive(Debug)]
pub(crate) enum Content {
    /// Neither a list nor a mapping.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Arc<Node>>),
    /// A mapping whose keys are different texts, in the order written.
    Mapping(Vec<Entry>),
}

/// A key and its value.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: Location,
    /// The value.
    pub value: Arc<Node>,
}

impl Node {
    pub const fn scalar(&self) -> Option<&Scalar> {
        if let Content::Scalar(scalar) = &self.content { Some(scalar) } else { None }
    }

    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_null)
    }

    /// Returns the name of the value's type for use in a message, with its article.
    pub fn with_article(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) => scalar.kind().with_article(),
            Content::List(_) => "a list",
            Content::Mapping(_) => "a mapping",
        }
    }
}
