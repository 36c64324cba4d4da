use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// An RFC 6901 JSON Pointer.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pointer(String);

impl Pointer {
    pub const fn root() -> Self {
        Self(String::new())
    }

    pub fn to_member(name: &str) -> Self {
        Self::root().member(name)
    }

    /// Returns the pointer to a member. Truncates an extremely long name.
    pub fn member(&self, name: &str) -> Self {
        let mut pointer = self.clone();
        pointer.push(name);
        pointer
    }

    /// Runs `work` one step further down.
    pub(crate) fn within(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let length = self.0.len();
        self.push(name);
        work(self);
        self.0.truncate(length);
    }

    fn push(&mut self, name: &str) {
        self.0.push('/');
        let name = shortened(name, LONGEST_NAME);
        if name.contains(['~', '/']) {
            self.0.push_str(&name.replace('~', "~0").replace('/', "~1"));
        } else {
            self.0.push_str(&name);
        }
    }

    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}/{index}", self.0))
    }

    /// Returns this pointer relative to the target of `base`.
    pub fn below(&self, base: &Self) -> Self {
        Self(format!("{}{}", base.0, self.0))
    }

    pub fn first_name(&self) -> String {
        self.names().next().unwrap_or_default()
    }

    /// Returns the names on the way.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.0.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~"))
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The characters of a client's name that a message repeats.
pub(crate) const LONGEST_NAME: usize = 200;

pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    // A text of few bytes has few characters.
    let end = if text.len() <= most { None } else { text.char_indices().nth(most) };
    end.map_or_else(|| text.into(), |(end, _)| format!("{}…", &text[..end]).into())
}
