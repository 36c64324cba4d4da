//! The facts about the content of an item. They are stored with its members, in `_meta`, which no
//! client can set. So every version has the facts of its time, and rules and policies read them
//! like members.

use std::fmt;

use jiff::Timestamp;

use crate::json::{Value, push_string};
use crate::{Members, Pointer};

/// The first stored member of an item with content. No other item has it.
pub const META: &str = "_meta";

const CONTENT: &str = "content";

/// Of stored members with [`META`].
const BEGINNING: &str = "{\"_meta\":{\"content\":";

/// SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 32]);

impl ContentDigest {
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Reads 64 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).ok()?;
        let is_lower_case = !text.contains(|digit: char| digit.is_ascii_uppercase());
        is_lower_case.then_some(Self(bytes))
    }
}

impl fmt::Display for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// With parameters, as the client sent it.
    pub media_type: Box<str>,
    /// Without folders and control characters.
    pub filename: Option<Box<str>>,
    /// In bytes.
    pub size: u64,
    pub digest: ContentDigest,
    /// In microseconds, UTC.
    pub stored_at: Timestamp,
}

impl Content {
    /// Reads the facts in stored members.
    pub fn of(members: &str) -> Option<Self> {
        let facts = Value::from_encoded(Self::encoded_in(members)?);
        let text = |name| facts.member(name)?.as_string();
        Some(Self {
            media_type: text("media_type")?.into(),
            filename: text("filename").map(Into::into),
            size: facts.member("size")?.as_number()?.parse().ok()?,
            digest: ContentDigest::parse(&text("sha256")?)?,
            stored_at: text("stored_at")?.parse().ok()?,
        })
    }

    /// Returns the JSON text of the facts in stored members.
    pub fn encoded_in(members: &str) -> Option<&str> {
        if !members.starts_with(BEGINNING) {
            return None;
        }
        let meta = Value::from_encoded(members).member(META)?;
        meta.member(CONTENT).map(Value::encoded)
    }

    /// Returns the text of stored members within the braces, without the facts.
    pub fn other_members(members: &str) -> &str {
        let all = &members[1..members.len() - 1];
        let facts =
            members.starts_with(BEGINNING).then(|| Value::from_encoded(members).member(META));
        match facts.flatten() {
            Some(meta) => {
                let rest = &all[META.len() + "\"\":".len() + meta.encoded().len()..];
                rest.strip_prefix(',').unwrap_or(rest)
            }
            None => all,
        }
    }

    pub fn pointer() -> Pointer {
        Pointer::to_member(META).member(CONTENT)
    }

    /// Returns the members with these facts, or without any.
    pub fn replaced(members: &Members, content: Option<&Self>) -> Members {
        members.with_first(META, content.map(Self::meta).as_deref())
    }

    /// Returns whether another content differs by the time of its storage only.
    pub fn is_same(&self, other: &Self) -> bool {
        *self == Self { stored_at: self.stored_at, ..other.clone() }
    }

    /// The value of [`META`].
    fn meta(&self) -> String {
        let Self { media_type, filename, size, digest, stored_at } = self;
        let mut meta = String::from("{\"content\":{\"media_type\":");
        push_string(&mut meta, media_type);
        if let Some(filename) = filename {
            meta.push_str(",\"filename\":");
            push_string(&mut meta, filename);
        }
        let rest = format!(
            ",\"size\":{size},\"sha256\":\"{digest}\",\"stored_at\":\"{stored_at:.6}\"}}}}"
        );
        meta + &rest
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, ContentDigest};
    use crate::Members;

    fn content(filename: Option<&str>) -> Content {
        Content {
            media_type: "text/plain; charset=\"utf-8\"".into(),
            filename: filename.map(Into::into),
            size: 5_000_000_000,
            digest: ContentDigest::new([0xa7; 32]),
            stored_at: "2026-11-24T10:00:00.25Z".parse().unwrap(),
        }
    }

    #[test]
    fn facts_are_read_as_they_were_written_and_do_not_touch_the_members() {
        for own in ["{}", r#"{"a":1.50}"#, r#"{"a":{"_meta":1},"b":[]}"#] {
            let members = Members::read(own.as_bytes()).unwrap().unwrap();
            assert_eq!(Content::of(own), None);
            assert_eq!(Content::other_members(own), &own[1..own.len() - 1]);
            for filename in [None, Some("Ñandú \"1\".pdf")] {
                let content = content(filename);
                let stored = Content::replaced(&members, Some(&content));
                assert_eq!(Content::of(stored.encoded()), Some(content.clone()));
                assert_eq!(Content::other_members(stored.encoded()), &own[1..own.len() - 1]);
                assert_eq!(Content::replaced(&stored, Some(&content)), stored);
                assert_eq!(Content::replaced(&stored, None), members);
            }
        }
        let facts = Content::replaced(&Members::default(), Some(&content(None)));
        let expected = format!(
            r#"{{"_meta":{{"content":{{"media_type":"text/plain; charset=\"utf-8\"","size":5000000000,"sha256":"{}","stored_at":"2026-11-24T10:00:00.250000Z"}}}}}}"#,
            "a7".repeat(32)
        );
        assert_eq!(facts.encoded(), expected);
    }

    #[test]
    fn a_digest_is_64_digits_in_lower_case() {
        let digest = ContentDigest::new([0x0f; 32]);
        assert_eq!(ContentDigest::parse(&digest.to_string()), Some(digest));
        for wrong in ["", "0f", &"0F".repeat(32), &"0g".repeat(32), &"0f".repeat(33)] {
            assert_eq!(ContentDigest::parse(wrong), None, "{wrong}");
        }
    }
}
