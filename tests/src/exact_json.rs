//! JSON with the order of members and every digit, but without the escaping of strings.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value whose comparison includes order and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExactJson {
    Literal(String),
    Number(String),
    String(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl ExactJson {
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        Self::try_parse(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
    }

    fn try_parse(text: &str) -> serde_json::Result<Self> {
        let text = text.trim();
        Ok(match text.bytes().next() {
            Some(b'{') => {
                let entries = serde_json::from_str::<Entries>(text)?.0;
                let read = |(name, value): (String, Box<RawValue>)| {
                    Ok((name, Self::try_parse(value.get())?))
                };
                Self::Object(entries.into_iter().map(read).collect::<serde_json::Result<_>>()?)
            }
            Some(b'[') => {
                let elements = serde_json::from_str::<Vec<Box<RawValue>>>(text)?;
                let elements = elements.iter().map(|element| Self::try_parse(element.get()));
                Self::List(elements.collect::<serde_json::Result<_>>()?)
            }
            Some(b'"') => Self::String(serde_json::from_str(text)?),
            Some(b'-' | b'0'..=b'9') => {
                Self::Number(serde_json::from_str::<Box<RawValue>>(text)?.get().to_owned())
            }
            _ => Self::Literal(serde_json::from_str::<Box<RawValue>>(text)?.get().to_owned()),
        })
    }

    pub fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Object(members) => {
                members.into_iter().find_map(|(found, value)| (found == name).then_some(value))
            }
            _ => None,
        }
    }

    /// The members of an object other than `names`.
    pub fn without(self, names: &[&str]) -> Self {
        match self {
            Self::Object(members) => Self::Object(
                members.into_iter().filter(|(name, _)| !names.contains(&name.as_str())).collect(),
            ),
            other => other,
        }
    }
}

/// The members of an object in their order.
struct Entries(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Entries;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Entries, M::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = members.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::ExactJson;

    #[test]
    fn order_and_digits_count_but_escaping_and_white_space_do_not() {
        for (left, right, equal) in [
            (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#, true),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, false),
            ("[1.10]", "[1.1]", false),
            ("[1.10]", "[ 1.10 ]", true),
            ("\"\\u00e9\"", "\"é\"", true),
            ("null", "false", false),
        ] {
            let found = ExactJson::parse(left) == ExactJson::parse(right);
            assert_eq!(found, equal, "{left} and {right}");
        }
    }
}
