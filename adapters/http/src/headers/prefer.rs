//! `Prefer: return=…` (RFC 7240): the client chooses if a response to a write shows the result.

use domain::Violations;
use poem::Response;
use poem::http::header::HeaderName;
use poem::http::{HeaderMap, HeaderValue};

use super::quality_list::{elements_of_line, split_unquoted};

pub const PREFER: HeaderName = HeaderName::from_static("prefer");

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    Minimal,
    Representation,
}

impl Return {
    /// Ignores other preferences and malformed elements.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let lines = headers.get_all(PREFER).iter();
        let mut values = lines.flat_map(elements_of_line).filter_map(value_of_return);
        // The first of equal preferences counts. Contradictory preferences cancel each other.
        let first = values.next().and_then(|value| Self::named(&value))?;
        let is_other = |value: String| Self::named(&value).is_some_and(|other| other != first);
        (!values.any(is_other)).then_some(first)
    }

    fn named(value: &str) -> Option<Self> {
        match value {
            "minimal" => Some(Self::Minimal),
            "representation" => Some(Self::Representation),
            _ => None,
        }
    }

    /// Warnings need a representation, so they override `minimal`.
    pub fn applied(headers: &HeaderMap, warnings: &Violations) -> Option<Self> {
        Self::of(headers)
            .filter(|preferred| *preferred == Self::Representation || warnings.is_empty())
    }

    pub fn acknowledge(applied: Option<Self>, mut response: Response) -> Response {
        let value = match applied {
            Some(Self::Minimal) => HeaderValue::from_static("return=minimal"),
            Some(Self::Representation) => HeaderValue::from_static("return=representation"),
            None => return response,
        };
        response.headers_mut().insert(PREFERENCE_APPLIED, value);
        response
    }
}

/// Names are case-insensitive, values are not.
fn value_of_return(element: &str) -> Option<String> {
    let preference = split_unquoted(element, ';').next()?;
    let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
    if !name.trim().eq_ignore_ascii_case("return") {
        return None;
    }
    let value = value.trim();
    match value.strip_prefix('"') {
        Some(quoted) => unquoted(quoted.strip_suffix('"')?),
        None => Some(value.to_owned()),
    }
}

/// RFC 9110 section 5.6.4.
fn unquoted(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => out.push(characters.next()?),
            '"' => return None,
            character => out.push(character),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{PREFER, Return};
    use crate::headers::sent;

    #[test]
    fn a_preference_is_read_as_the_standard_writes_it() {
        for (line, expected) in [
            ("return=minimal", Some(Return::Minimal)),
            ("return=representation", Some(Return::Representation)),
            ("Return = minimal", Some(Return::Minimal)),
            ("RETURN=\"minimal\"", Some(Return::Minimal)),
            (r#"return="mini\mal""#, Some(Return::Minimal)),
            ("return=minimal; foo=\"some, parameter;\"", Some(Return::Minimal)),
            ("respond-async, wait=10 , return=minimal,handling=lenient", Some(Return::Minimal)),
            ("foo=\"return=minimal, return=minimal\", bar", None),
            ("foo; return=minimal", None),
            ("return=minimal, return=minimal", Some(Return::Minimal)),
            ("return=minimal, return=representation", None),
            ("return=other, return=minimal", None),
            ("return=minimal, return=other", Some(Return::Minimal)),
            ("return, return=minimal", None),
            ("return=Minimal", None),
            ("return=\"\"", None),
            ("return=", None),
            ("return=\"minimal", None),
            ("return=\"minimal\"x", None),
            (r#"return="minimal\""#, None),
            (",,=,;", None),
            ("", None),
        ] {
            assert_eq!(Return::of(&sent(PREFER, &[line])), expected, "{line}");
        }
    }
}
