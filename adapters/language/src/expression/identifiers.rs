//! Persistent identifiers of research: of people, organisations and publications.

/// Crockford's base 32: without the letters i, l, o and u, which look like others.
const BASE_32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Returns whether a text is an ORCID iD with a correct check character (ISO 7064, MOD 11-2).
pub(super) fn is_orcid(text: &str) -> bool {
    let own = text.strip_prefix("https://orcid.org/").unwrap_or(text).as_bytes();
    let mut total = 0;
    for (place, byte) in own.iter().enumerate() {
        match (place, byte) {
            (4 | 9 | 14, b'-') => {}
            (18, check) => {
                let expected = match (12 - total % 11) % 11 {
                    10 => b'X',
                    digit => b'0' + digit,
                };
                return own.len() == 19 && *check == expected;
            }
            (0..=3 | 5..=8 | 10..=13 | 15..=17, b'0'..=b'9') => {
                total = (total + byte - b'0') * 2 % 11;
            }
            _ => return false,
        }
    }
    false
}

/// Returns whether a text is a ROR ID with correct check digits (ISO 7064, MOD 97-10).
pub(super) fn is_ror(text: &str) -> bool {
    let own = text.strip_prefix("https://ror.org/").unwrap_or(text).as_bytes();
    let [b'0', number @ .., tens @ b'0'..=b'9', ones @ b'0'..=b'9'] = own else { return false };
    let digit = |byte: &u8| BASE_32.iter().position(|known| known == byte);
    let value = number.iter().try_fold(0, |value, byte| Some(value * 32 % 97 + digit(byte)?));
    let check = usize::from(tens - b'0') * 10 + usize::from(ones - b'0');
    number.len() == 6 && value.is_some_and(|value| check == 98 - value * 100 % 97)
}

/// Returns whether a text has the form of a DOI: `10.`, the number of a registrant, `/` and a
/// suffix. A DOI has no check digit.
pub(super) fn is_doi(text: &str) -> bool {
    let own = ["https://doi.org/", "doi:"].into_iter().find_map(|start| text.strip_prefix(start));
    let parts = own.unwrap_or(text).strip_prefix("10.").and_then(|rest| rest.split_once('/'));
    parts.is_some_and(|(registrant, suffix)| {
        let is_number =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let first = registrant.split('.').next().unwrap_or_default();
        (4..=9).contains(&first.len())
            && registrant.split('.').all(is_number)
            && !suffix.is_empty()
            && !suffix.contains(|it: char| it.is_whitespace() || it.is_control())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BASE_32, is_doi, is_orcid, is_ror};

    /// Replaces one character by each other one of an alphabet.
    fn with_one_mistake<'a>(
        text: &'a str,
        alphabet: &'a [u8],
    ) -> impl Iterator<Item = String> + 'a {
        (0..text.len()).flat_map(move |place| {
            let others = alphabet.iter().filter(move |other| **other != text.as_bytes()[place]);
            others.map(move |other| {
                format!("{}{}{}", &text[..place], char::from(*other), &text[place + 1..])
            })
        })
    }

    #[test]
    fn one_mistake_makes_an_identifier_invalid() {
        for orcid in ["0000-0002-1825-0097", "0000-0002-1694-233X", "0000-0001-5109-3700"] {
            assert!(is_orcid(orcid) && is_orcid(&format!("https://orcid.org/{orcid}")), "{orcid}");
            for wrong in with_one_mistake(orcid, b"0123456789X-") {
                assert!(!is_orcid(&wrong), "{wrong}");
            }
        }
        for ror in ["05dxps055", "02mhbdp94", "03yrm5c26", "00k4n6c32"] {
            assert!(is_ror(ror) && is_ror(&format!("https://ror.org/{ror}")), "{ror}");
            for wrong in with_one_mistake(ror, BASE_32) {
                assert!(!is_ror(&wrong), "{wrong}");
            }
        }
    }

    #[test]
    fn other_forms_are_invalid() {
        for text in [
            "",
            "0000000218250097",
            "0000-0002-1825-00977",
            "0000-0002-1825-009",
            "0000-0002-1694-233x",
            "http://orcid.org/0000-0002-1825-0097",
            "https://orcid.org/",
            " 0000-0002-1825-0097",
            "0000-0002-1825-0097\n",
            "００００-0002-1825-0097",
        ] {
            assert!(!is_orcid(text), "{text}");
        }
        for text in
            ["", "0", "05DXPS055", "5dxps055", "005dxps055", "https://ror.org/", "05dxps05é"]
        {
            assert!(!is_ror(text), "{text}");
        }
        for text in
            ["10.1000/182", "10.1038/s41586-020-2649-2", "10.1000.10/123", "10.12345/a/(b)<c>é"]
        {
            for prefix in ["", "doi:", "https://doi.org/"] {
                assert!(is_doi(&format!("{prefix}{text}")), "{prefix}{text}");
            }
        }
        for text in [
            "",
            "10.1000",
            "10.1000/",
            "10.100/1",
            "10.1234567890/1",
            "10.1000./1",
            "10.1000.x/1",
            "11.1000/1",
            "10.1000/a b",
            "10.1000/a\u{7f}",
            "DOI:10.1000/1",
            "doi:https://doi.org/10.1000/1",
            "https://doi.org/",
        ] {
            assert!(!is_doi(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_a_check_panic(text in "(https://(orcid|ror|doi).org/|doi:)?(0[0-9a-z]{6}[0-9]{2}|[0-9X-]{0,20}|10.\\PC{0,40}|\\PC{0,40})") {
            let _ = (is_orcid(&text), is_ror(&text), is_doi(&text));
        }
    }
}
