//! JSON Pointer (RFC 6901).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An RFC 6901 JSON Pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pointer(String);

impl Pointer {
    /// The whole value.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// The pointer to a top-level member.
    pub fn to_member(name: &str) -> Self {
        Self::root().member(name)
    }

    /// The pointer to a member of what this one points to. A name of absurd length is cut short.
    pub fn member(&self, name: &str) -> Self {
        let mut pointer = self.clone();
        pointer.push(name);
        pointer
    }

    /// Does something one step further down.
    pub(crate) fn within(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let length = self.0.len();
        self.push(name);
        work(self);
        self.0.truncate(length);
    }

    fn push(&mut self, name: &str) {
        self.0.push('/');
        for character in shortened(name, LONGEST_NAME).chars() {
            match character {
                '~' => self.0.push_str("~0"),
                '/' => self.0.push_str("~1"),
                _ => self.0.push(character),
            }
        }
    }

    /// The pointer to an element of what this one points to, from 0.
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// This pointer within what `base` points to.
    pub fn below(&self, base: &Self) -> Self {
        Self(format!("{}{}", base.0, self.0))
    }

    /// The name of the top-level member it points into; empty for the whole value.
    pub fn first_name(&self) -> String {
        self.0.split('/').nth(1).unwrap_or_default().replace("~1", "/").replace("~0", "~")
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Most characters of a client's name that a message repeats.
pub(crate) const LONGEST_NAME: usize = 200;

/// The first `most` characters of a text, with an ellipsis if it is longer.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
