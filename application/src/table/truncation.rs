use std::borrow::Cow;

/// The limit of a workbook's cell, in UTF-16 code units.
pub const MOST_UNITS: usize = 32_767;

const BEGINNING: &str = "… [truncated: ";
const END: &str = " characters]";

pub fn truncated(written: &str) -> Cow<'_, str> {
    if written.len() <= MOST_UNITS || units(written) <= MOST_UNITS {
        return written.into();
    }
    let mark = format!("{BEGINNING}{}{END}", grouped(length(written)));
    let mut left = MOST_UNITS - units(&mark);
    let fits = |letter: &char| match left.checked_sub(letter.len_utf16()) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let kept: usize = written.chars().take_while(fits).map(char::len_utf8).sum();
    format!("{}{mark}", &written[..kept]).into()
}

pub(crate) fn is_truncated(written: &str) -> bool {
    parts(written).is_some()
}

/// Returns true if `written` is a truncation of `whole`, which must exceed the limit of a cell.
pub(super) fn is_beginning_of(written: &str, whole: &str) -> bool {
    parts(written).is_some_and(|(kept, count)| {
        count == length(whole)
            && units(whole) > MOST_UNITS
            && lines(whole).starts_with(&*lines(kept))
    })
}

/// Returns the beginning of a truncated text, and the length of the whole in characters.
fn parts(written: &str) -> Option<(&str, usize)> {
    let marked = written.strip_suffix(END)?;
    let (kept, count) = marked.rsplit_once(BEGINNING)?;
    let number = count.replace(',', "").parse().ok()?;
    (grouped(number) == count).then_some((kept, number))
}

/// Counts the characters, without the cell's leading apostrophe.
fn length(written: &str) -> usize {
    written.strip_prefix('\'').unwrap_or(written).chars().count()
}

/// Normalizes line ends, which spreadsheet programs change.
pub(super) fn lines(written: &str) -> Cow<'_, str> {
    if written.contains('\r') {
        written.replace("\r\n", "\n").replace('\r', "\n").into()
    } else {
        written.into()
    }
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MOST_UNITS, grouped, is_beginning_of, is_truncated, truncated, units};

    #[test]
    fn a_long_text_fills_a_cell_with_its_beginning_and_its_length() {
        let text = "x".repeat(41_203);
        let cell = truncated(&text);
        assert!(
            cell.ends_with("x… [truncated: 41,203 characters]"),
            "{}",
            &cell[cell.len() - 60..]
        );
        assert_eq!(units(&cell), MOST_UNITS);
        let fish = "🐟".repeat(20_000);
        let cell = truncated(&fish);
        assert!(cell.ends_with("🐟… [truncated: 20,000 characters]"), "no half of a pair");
        assert!((MOST_UNITS - 1..=MOST_UNITS).contains(&units(&cell)));
        assert_eq!(truncated(&"é".repeat(MOST_UNITS)), "é".repeat(MOST_UNITS));
        let formula = format!("'={}", "1".repeat(40_000));
        assert!(truncated(&formula).ends_with("… [truncated: 40,001 characters]"), "without the '");
    }

    #[test]
    fn a_mark_is_recognized_by_its_grammar() {
        for (text, is_marked) in [
            ("… [truncated: 41,203 characters]", true),
            ("x… [truncated: 5 characters]", true),
            ("x… [truncated: 41203 characters]", false),
            ("x… [truncated: 4,12 characters]", false),
            ("x… [truncated:  characters]", false),
            ("x… [truncated: 41,203 characters] ", false),
            ("x", false),
        ] {
            assert_eq!(is_truncated(text), is_marked, "{text}");
        }
        let numbers = [0, 999, 1_000, 12_345, 123_456, 1_234_567].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "12,345", "123,456", "1,234,567"]);
    }

    #[test]
    fn a_truncated_text_is_that_of_no_other() {
        let text = format!("a\r\n{}", "x".repeat(40_000));
        let cell = truncated(&text).into_owned();
        assert!(is_beginning_of(&cell, &text));
        assert!(is_beginning_of(&cell.replace('\r', ""), &text), "as Excel ends lines");
        assert!(!is_beginning_of(&cell, &format!("{text}x")), "another length");
        assert!(!is_beginning_of(&cell, &text.replace('a', "b")), "another beginning");
        assert!(!is_beginning_of("x… [truncated: 3 characters]", "xyz"), "short texts are whole");
    }

    proptest! {
        #[test]
        fn any_text_fits_and_is_known_again(part in r"\PC{1,40}", times in 1_usize..4_000) {
            let text = part.repeat(times);
            let cell = truncated(&text);
            prop_assert!(units(&cell) <= MOST_UNITS);
            prop_assert!(cell == text || is_beginning_of(&cell, &text));
        }
    }
}
