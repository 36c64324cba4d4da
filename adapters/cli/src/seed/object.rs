//! Writes a JSON object, member by member.

use std::fmt::Display;

use domain::json::push_text;

/// The JSON text of an object that is being written.
pub struct Object {
    text: String,
}

impl Object {
    /// An object without members, with room for `capacity` bytes.
    pub fn with_capacity(capacity: usize) -> Self {
        let mut text = String::with_capacity(capacity);
        text.push('{');
        Self { text }
    }

    /// Appends a text.
    pub fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        push_text(&mut self.text, value);
    }

    /// Appends a list of texts.
    pub fn texts<T: AsRef<str>>(&mut self, name: &str, values: &[T]) {
        self.name(name);
        self.text.push('[');
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            push_text(&mut self.text, value.as_ref());
        }
        self.text.push(']');
    }

    /// Appends what is JSON already.
    pub fn json(&mut self, name: &str, value: impl Display) {
        self.name(name);
        self.text.push_str(&value.to_string());
    }

    /// How many bytes were written so far.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        self.text.push('}');
        self.text
    }

    fn name(&mut self, name: &str) {
        if self.text.len() > 1 {
            self.text.push(',');
        }
        push_text(&mut self.text, name);
        self.text.push(':');
    }
}
