//! A query as names and values.
//!
//! It is split at `&`, each piece at its first `=`; what has none has an empty value. Then both
//! sides are decoded as the URL standard decodes forms (`application/x-www-form-urlencoded`): `+`
//! is a space, `%XX` a byte, a `%` without two hexadecimal digits stands for itself, and the bytes
//! must be UTF-8. U+0000 is in nothing the service stores, so it is refused.
//!
//! A filter's name has brackets, `filter[member]` or `filter[member][operator]`. They are looked
//! for before anything is decoded, so that a member's own brackets can be told apart:
//! percent-encoded, they belong to its name. Many clients encode every bracket; a name with no bare
//! `[` at all is decoded first and taken apart then.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use super::fault::{invalid, quoted};
use crate::problem::Problem;

/// A parameter as it was sent.
#[derive(Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    pub name: Name<'a>,
    pub value: Cow<'a, str>,
}

/// The name of a parameter.
#[derive(Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// Any but a filter's.
    Plain(Cow<'a, str>),
    /// `filter[member]` or `filter[member][operator]`.
    Filter { member: String, operator: Option<String> },
}

/// The pieces of a query, not yet decoded.
pub fn pieces(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|piece| !piece.is_empty())
}

/// Tells whether a piece of a query, not yet decoded, has this name.
pub fn is_named(piece: &str, name: &str) -> bool {
    decoded(piece.split('=').next().unwrap_or_default()).is_ok_and(|own| own == name)
}

impl<'a> Pair<'a> {
    /// Takes a piece apart and decodes it.
    ///
    /// # Errors
    /// 400 for what is no text, and for brackets that are none of a filter's.
    pub fn read(piece: &'a str) -> Result<Self, Problem> {
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        let refuse = |part: &str, fault: Undecodable| {
            invalid(format!("{part} {} {}.", quoted(name), fault.0))
        };
        let value = decoded(value).map_err(|fault| refuse("the value of", fault))?;
        let name = Name::read(name).map_err(|fault| refuse("the parameter", fault))?;
        Ok(Self { name, value })
    }
}

impl<'a> Name<'a> {
    fn read(raw: &'a str) -> Result<Self, Undecodable> {
        match raw.split_once('[') {
            Some((start, inside)) if decoded(start)? == "filter" => {
                Self::filter(inside, |part| decoded(part).map(Cow::into_owned))
            }
            Some(_) => decoded(raw).map(Name::Plain),
            None => {
                let whole = decoded(raw)?;
                match whole.strip_prefix("filter[") {
                    Some(inside) => Self::filter(inside, |part| Ok(part.to_owned())),
                    None => Ok(Name::Plain(whole)),
                }
            }
        }
    }

    /// Takes apart what follows `filter[`.
    fn filter(
        inside: &str,
        decode: impl Fn(&str) -> Result<String, Undecodable>,
    ) -> Result<Self, Undecodable> {
        let malformed = Undecodable(
            "is no filter; write filter[member] or filter[member][operator], and %5B and %5D for the brackets of a name",
        );
        let mut parts = inside.strip_suffix(']').ok_or(malformed)?.split("][");
        let (member, operator) = (parts.next().unwrap_or_default(), parts.next());
        if parts.next().is_some() {
            return Err(Undecodable(
                "names more than a member and an operator; only members at the top level are filtered by",
            ));
        }
        Ok(Name::Filter { member: decode(member)?, operator: operator.map(decode).transpose()? })
    }
}

/// Why a piece is no text.
#[derive(Clone, Copy, Debug)]
struct Undecodable(&'static str);

fn decoded(text: &str) -> Result<Cow<'_, str>, Undecodable> {
    let not_utf8 = |_| Undecodable("is not UTF-8 once it is decoded");
    let text = if text.contains('+') {
        Cow::Owned(
            percent_decode_str(&text.replace('+', " "))
                .decode_utf8()
                .map_err(not_utf8)?
                .into_owned(),
        )
    } else {
        percent_decode_str(text).decode_utf8().map_err(not_utf8)?
    };
    if text.contains('\0') { Err(Undecodable("holds the character U+0000")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Name, Pair, is_named, pieces};

    fn of_filter(member: &str, operator: Option<&str>) -> Name<'static> {
        Name::Filter { member: member.to_owned(), operator: operator.map(str::to_owned) }
    }

    #[test]
    fn brackets_are_found_before_anything_is_decoded() {
        let plain = |name: &str| Some(Name::Plain(name.to_owned().into()));
        let filter = |member: &str, operator: Option<&str>| Some(of_filter(member, operator));
        for (raw, expected) in [
            ("page", plain("page")),
            ("p%61ge", plain("page")),
            ("a+b", plain("a b")),
            ("filter", plain("filter")),
            ("page[size]", plain("page[size]")),
            ("filter[a]", filter("a", None)),
            ("f%69lter[a]", filter("a", None)),
            ("filter[a][gte]", filter("a", Some("gte"))),
            ("filter[a][]", filter("a", Some(""))),
            ("filter[]", filter("", None)),
            ("filter[a%5D%5Bgte]", filter("a][gte", None)),
            ("filter[%5Ba%5D][gte]", filter("[a]", Some("gte"))),
            ("filter[a%20b+c]", filter("a b c", None)),
            ("filter%5Ba%5D", filter("a", None)),
            ("filter%5ba%5d%5Bgte%5D", filter("a", Some("gte"))),
            ("filter%5Ba%5Bb%5D%5D", filter("a[b]", None)),
            ("filter%5Ba%255D%5D", filter("a%5D", None)),
            ("filter[100%]", filter("100%", None)),
            ("filter[a", None),
            ("filter[a]x", None),
            ("filter[a][b][eq]", None),
            ("filter%5Ba%5D%5Bb%5D%5Beq%5D", None),
            ("filter[%ff]", None),
            ("filter[%00]", None),
            ("%ff", None),
        ] {
            assert_eq!(Pair::read(raw).ok().map(|pair| pair.name), expected, "{raw}");
        }
    }

    #[test]
    fn values_are_decoded_as_forms_are() {
        for (piece, expected) in [
            ("a=b", Some("b")),
            ("a", Some("")),
            ("a==b=c", Some("=b=c")),
            ("a=b+c%2Bd", Some("b c+d")),
            ("a=%E2%82%B1", Some("₱")),
            ("a=50%", Some("50%")),
            ("a=%E2%82", None),
            ("a=%00", None),
        ] {
            assert_eq!(
                Pair::read(piece).ok().map(|pair| pair.value.into_owned()).as_deref(),
                expected,
                "{piece}"
            );
        }
    }

    #[test]
    fn pieces_are_compared_decoded() {
        assert_eq!(pieces("&a=1&&b").collect::<Vec<_>>(), ["a=1", "b"]);
        assert!(is_named("%70age=1", "page") && !is_named("page_size=1", "page"));
    }

    proptest! {
        #[test]
        fn no_query_makes_it_panic(query in "[ -~]{0,80}") {
            pieces(&query).for_each(|piece| drop(Pair::read(piece)));
        }

        #[test]
        fn any_name_can_be_written(member in "[^\0]{1,20}", operator in prop::option::of("[a-z]{1,4}")) {
            let encode = |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
            let suffix = operator.as_deref().map(|operator| format!("[{operator}]")).unwrap_or_default();
            let piece = format!("filter[{}]{suffix}=x", encode(&member));
            prop_assert_eq!(Pair::read(&piece).ok().map(|pair| pair.name), Some(of_filter(&member, operator.as_deref())));
        }
    }
}
