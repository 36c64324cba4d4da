use application::table::Format;
use poem::http::header::CONTENT_TYPE;
use poem::http::{HeaderMap, HeaderValue};

use crate::headers::quality_list::split_unquoted;
use crate::headers::sole::sole;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaType(&'static str);

impl MediaType {
    /// Hypertext Application Language (draft-kelly-json-hal).
    pub const HAL: Self = Self("application/hal+json");
    /// RFC 8259.
    pub const JSON: Self = Self("application/json");
    /// A range (RFC 9110 section 12.5.1), for documentation.
    pub const ANY: Self = Self("*/*");
    /// Bytes of any kind (RFC 2046 section 4.5.1).
    pub const BYTES: Self = Self("application/octet-stream");
    /// APPNOTE of PKWARE; registered with IANA.
    pub const ZIP: Self = Self("application/zip");
    pub const HTML: Self = Self("text/html");
    pub const CSS: Self = Self("text/css");
    /// RFC 9239.
    pub const JAVASCRIPT: Self = Self("text/javascript");
    pub const ICON: Self = Self("image/x-icon");
    /// Server-sent events (WHATWG HTML, section 9.2).
    pub const EVENT_STREAM: Self = Self("text/event-stream");

    pub const fn vendor(name: &'static str) -> Self {
        Self(name)
    }

    pub const fn name(self) -> &'static str {
        self.0
    }

    pub const fn of_file(format: &Format) -> Self {
        Self(format.media_type)
    }

    pub fn is_json(self) -> bool {
        self == Self::JSON || self.0.ends_with("+json")
    }

    /// Types for browsers name their charset. JSON has none (RFC 8259 section 11).
    pub fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::HTML => "text/html; charset=utf-8",
            Self::CSS => "text/css; charset=utf-8",
            Self::JAVASCRIPT => "text/javascript; charset=utf-8",
            Self("text/csv") => "text/csv; charset=utf-8",
            Self(name) => name,
        })
    }
}

/// The default is HAL; browsers ask for HTML.
pub const PAGE_TYPES: [MediaType; 3] = [MediaType::HAL, MediaType::JSON, MediaType::HTML];

/// Allows no parameter except a UTF-8 charset.
pub fn has_content_type(headers: &HeaderMap, types: &[MediaType]) -> bool {
    let Ok(Some(line)) = sole(headers, CONTENT_TYPE) else { return false };
    let Ok(text) = line.to_str() else { return false };
    let mut parts = split_unquoted(text, ';').map(str::trim);
    let name = parts.next().unwrap_or_default();
    types.iter().any(|known| known.0.eq_ignore_ascii_case(name))
        && parts.filter(|part| !part.is_empty()).all(is_utf8_charset)
}

fn is_utf8_charset(parameter: &str) -> bool {
    parameter.split_once('=').is_some_and(|(key, value)| {
        let value =
            value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value);
        key.eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8")
    })
}
