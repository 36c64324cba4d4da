//! Content negotiation (RFC 9110 section 12) between the few media types of a path.
//!
//! Written here because of the libraries tried, one keeps `q=0` as a match and ignores specificity,
//! and another rejects the whole header for one bad element.

use std::cmp::Reverse;

use poem::http::HeaderMap;
use poem::http::header::{ACCEPT, ACCEPT_ENCODING};

use super::media_type::MediaType;
use super::quality_list::{Element, elements};

/// The most specific range decides the quality.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Anything,
    AnySubtype,
    Exact,
}

fn specificity(range: &str, candidate: &str) -> Option<Specificity> {
    let (kind, _) = candidate.split_once('/')?;
    match range.split_once('/')? {
        ("*", "*") => Some(Specificity::Anything),
        (main, "*") => main.eq_ignore_ascii_case(kind).then_some(Specificity::AnySubtype),
        _ => range.eq_ignore_ascii_case(candidate).then_some(Specificity::Exact),
    }
}

/// The highest quality wins. Ties follow the client's order, then the candidates' order. Without an
/// Accept header, every type is acceptable.
pub fn negotiate(headers: &HeaderMap, candidates: &[MediaType]) -> Option<MediaType> {
    let Some(accepted) = elements(headers, &ACCEPT) else { return candidates.first().copied() };
    let ranges: Vec<_> = accepted.collect();
    let best_fit = |candidate: MediaType| {
        let fits = ranges.iter().enumerate().filter_map(|(position, range)| {
            Some((specificity(range.name, candidate.name())?, range.quality, Reverse(position)))
        });
        fits.max()
    };
    let acceptable = candidates.iter().filter_map(|candidate| {
        let (_, quality, position) = best_fit(*candidate)?;
        (quality > 0).then_some((quality, position, *candidate))
    });
    // Of equals, `min_by_key` keeps the first: the candidates' order.
    let preferred = acceptable.min_by_key(|(quality, position, _)| Reverse((*quality, *position)));
    preferred.map(|(.., candidate)| candidate)
}

/// Returns whether the client accepts a type, without its parameters.
pub fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim();
    let Some(accepted) = elements(headers, &ACCEPT) else { return true };
    let fits = accepted.filter_map(|range| Some((specificity(range.name, name)?, range.quality)));
    fits.max().is_some_and(|(_, quality)| quality > 0)
}

/// RFC 9110 section 8.4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// RFC 7932. Smaller, but too slow to compress per request.
    Brotli,
    /// RFC 1952.
    Gzip,
}

impl Coding {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the client's weight for this coding, or for `*` if the coding is not listed; 0 if
    /// neither is.
    fn quality(self, headers: &HeaderMap) -> u16 {
        let names: &[_] = match self {
            Self::Brotli => &["br", "*"],
            Self::Gzip => &["gzip", "x-gzip", "*"],
        };
        let place = |coding: &Element<'_>| {
            names.iter().position(|name| coding.name.eq_ignore_ascii_case(name))
        };
        let codings = elements(headers, &ACCEPT_ENCODING).into_iter().flatten();
        let placed = codings.filter_map(|coding| Some((place(&coding)?, coding.quality)));
        // Of equals, `min_by_key` keeps the first.
        placed.min_by_key(|(place, _)| *place).map_or(0, |(_, quality)| quality)
    }
}

pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    Coding::Gzip.quality(headers) > 0
}

/// Prefers the smaller coding of equals.
pub fn preferred_coding(headers: &HeaderMap) -> Option<Coding> {
    let weigh = |coding: Coding| (coding.quality(headers), coding);
    let [brotli, gzip] = [Coding::Brotli, Coding::Gzip].map(weigh);
    let (quality, coding) = if gzip.0 > brotli.0 { gzip } else { brotli };
    (quality > 0).then_some(coding)
}

#[cfg(test)]
mod tests {
    use poem::http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE};
    use poem::http::{HeaderMap, HeaderValue};
    use proptest::prelude::*;

    use super::{Coding, negotiate, preferred_coding};
    use crate::headers::media_type::{MediaType, has_content_type};
    use crate::headers::sent;

    const VENDOR: MediaType = MediaType::vendor("application/vnd.proposals.v1+json");
    const CANDIDATES: [MediaType; 3] = [MediaType::HAL, VENDOR, MediaType::JSON];

    #[test]
    fn the_smaller_coding_is_sent_of_those_that_are_equally_welcome() {
        for (line, expected) in [
            ("x-gzip;q=0.5", Some(Coding::Gzip)),
            ("*", Some(Coding::Brotli)),
            ("*, br;q=0", Some(Coding::Gzip)),
            ("br;q=0.5, gzip;q=0.6", Some(Coding::Gzip)),
            ("br;q=0, gzip;q=0", None),
        ] {
            assert_eq!(preferred_coding(&sent(ACCEPT_ENCODING, &[line])), expected, "{line}");
        }
    }

    #[test]
    fn a_content_type_is_taken_to_the_letter() {
        for (values, expected) in [
            (&["application/json;"][..], true),
            (&["application/json; version=1"], false),
            (&["application/json", "application/json"], false),
            (&[""], false),
        ] {
            let headers = sent(CONTENT_TYPE, values);
            let is_taken = has_content_type(&headers, &[VENDOR, MediaType::JSON]);
            assert_eq!(is_taken, expected, "{values:?}");
        }
    }

    fn header_value() -> impl Strategy<Value = HeaderValue> {
        let pieces = r#"application/json application/hal+json Application/* */* ; , q= 0.5 1 " \ charset=utf-8 / *"#;
        let pieces = prop::sample::select(pieces.split(' ').chain([" "]).collect::<Vec<_>>());
        let nearly =
            prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat().into_bytes());
        let any = prop::collection::vec(any::<u8>(), 0..60);
        prop_oneof![nearly, any]
            .prop_filter_map("no header can hold it", |bytes| HeaderValue::from_bytes(&bytes).ok())
    }

    proptest! {
        #[test]
        fn what_is_chosen_was_named(lines in prop::collection::vec(header_value(), 0..4)) {
            let mut headers = HeaderMap::new();
            headers.extend(lines.iter().map(|line| (ACCEPT, line.clone())));
            let said: Vec<_> = lines.iter().flat_map(|line| line.as_bytes().to_ascii_lowercase()).collect();
            let says = |text: &str| said.windows(text.len()).any(|part| part == text.as_bytes());
            if let Some(chosen) = negotiate(&headers, &CANDIDATES) {
                prop_assert!(lines.is_empty() || says("*/*") || says("application/*") || says(&chosen.name().to_ascii_lowercase()));
            }
        }

        #[test]
        fn a_content_type_that_is_taken_is_one_of_the_types(line in header_value()) {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, line.clone())]);
            if has_content_type(&headers, &[VENDOR, MediaType::JSON]) {
                let name = line.to_str().unwrap().split(';').next().unwrap_or_default().trim();
                prop_assert!([VENDOR, MediaType::JSON].iter().any(|known| known.name().eq_ignore_ascii_case(name)));
            }
        }

        #[test]
        fn what_is_chosen_was_not_refused(qualities in prop::array::uniform3(0_u16..=1000)) {
            let weigh = |(candidate, quality): (MediaType, u16)| format!("{};q={}", candidate.name(), f64::from(quality) / 1000.0);
            let line: Vec<_> = CANDIDATES.into_iter().zip(qualities).map(weigh).collect();
            let chosen = negotiate(&sent(ACCEPT, &[&line.join(", ")]), &CANDIDATES);
            let highest = qualities.into_iter().max().unwrap_or_default();
            prop_assert_eq!(chosen.is_some(), highest > 0);
            if let Some(chosen) = chosen {
                let index = CANDIDATES.iter().position(|candidate| *candidate == chosen).unwrap();
                prop_assert_eq!(qualities[index], highest);
            }
        }
    }
}
