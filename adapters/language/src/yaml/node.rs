use std::ops::Range;
use std::sync::Arc;

use domain::json::push_string;

use super::{Scalar, ScalarKind};
use crate::error::{Located, Location};

#[derive(Debug)]
pub struct Node {
    pub place: Location,
    pub content: Content,
    pub(super) depth: usize,
    pub(super) range: Range<usize>,
    pub(super) file: Arc<str>,
}

#[derive(Debug)]
pub enum Content {
    Scalar(Scalar),
    List(Vec<Arc<Node>>),
    Mapping(Vec<MappingEntry>),
}

#[derive(Debug)]
pub struct MappingEntry {
    pub key: String,
    pub place: Location,
    pub value: Arc<Node>,
}

impl Node {
    pub const fn scalar(&self) -> Option<&Scalar> {
        if let Content::Scalar(scalar) = &self.content { Some(scalar) } else { None }
    }

    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_null)
    }

    pub fn written(&self) -> String {
        let indentation = self.place.column.saturating_sub(1) as usize;
        let lines =
            self.file.get(self.range.clone()).unwrap_or_default().trim_end().lines().enumerate();
        let lines = lines.map(|(index, line)| {
            let blank = line.len() - line.trim_start_matches(' ').len();
            &line[if index == 0 { 0 } else { blank.min(indentation) }..]
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub fn with_article(&self) -> &'static str {
        match &self.content {
            Content::Scalar(scalar) => scalar.kind().with_article(),
            Content::List(_) => "a list",
            Content::Mapping(_) => "a mapping",
        }
    }

    pub fn entry(&self, key: &str) -> Option<&MappingEntry> {
        let Content::Mapping(entries) = &self.content else { return None };
        entries.iter().find(|entry| entry.key == key)
    }

    /// Returns compact JSON with all digits of numbers. Fails for values that JSON cannot express,
    /// and with the reason `too_large` above `most_bytes`: aliases let a short text expand.
    pub fn json(&self, most_bytes: usize, too_large: &str) -> Result<String, Located> {
        let mut out = String::new();
        self.push_json((most_bytes, too_large), &mut out)?;
        Ok(out)
    }

    fn push_json(&self, limit: (usize, &str), out: &mut String) -> Result<(), Located> {
        if out.len() > limit.0 {
            return Err((self.place, limit.1.to_owned()));
        }
        match &self.content {
            Content::Scalar(scalar) => match scalar.kind() {
                ScalarKind::Null => out.push_str("null"),
                ScalarKind::Boolean => out.push_str(&scalar.text.to_ascii_lowercase()),
                ScalarKind::Number => out.push_str(&scalar.text),
                ScalarKind::OddNumber => {
                    let reason = format!(
                        "`{}` is not a JSON number; write it as in JSON, or in quotes if it is a string",
                        scalar.text
                    );
                    return Err((self.place, reason));
                }
                ScalarKind::String => push_string(out, &scalar.text),
            },
            Content::List(elements) => {
                out.push('[');
                for (index, element) in elements.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    element.push_json(limit, out)?;
                }
                out.push(']');
            }
            Content::Mapping(entries) => {
                out.push('{');
                for (index, entry) in entries.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    push_string(out, &entry.key);
                    out.push(':');
                    entry.value.push_json(limit, out)?;
                }
                out.push('}');
            }
        }
        Ok(())
    }
}
