//! `after`: a place in the change log, as text for the next request. It is opaque to clients and
//! checked like any cursor.

use application::Sequence;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::cursor::checksum;
use super::fault::invalid;
use crate::problem::Problem;

/// Of the layout: this byte, the number, a checksum of both.
const VERSION: u8 = 1;

const NUMBER: usize = size_of::<i64>();

/// The cursor of a change.
#[must_use]
pub fn write(Sequence(number): Sequence) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend(number.to_be_bytes());
    bytes.extend(checksum(&bytes));
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Reads a cursor.
///
/// # Errors
/// 400 for what this service did not give.
pub fn read(cursor: &str) -> Result<Sequence, Problem> {
    decode(cursor).ok_or_else(|| {
        invalid("`after` is no cursor that this service gave; take the `cursor` of a change, follow `_links.next`, or begin without it.")
    })
}

/// The place a cursor stands for, if this service gave it.
#[must_use]
pub fn decode(cursor: &str) -> Option<Sequence> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (content, check) = bytes.split_at_checked(1 + NUMBER)?;
    let number = i64::from_be_bytes(content.get(1..)?.try_into().ok()?);
    let is_sound = content[0] == VERSION && check == checksum(content) && number >= 0;
    is_sound.then_some(Sequence(number))
}

#[cfg(test)]
mod tests {
    use application::Sequence;
    use proptest::prelude::*;

    use super::{read, write};

    proptest! {
        #[test]
        fn a_cursor_comes_back_and_a_damaged_one_does_not(number in 0..i64::MAX, at in 0..16_usize, by in "[A-Za-z0-9_=-]?") {
            let cursor = write(Sequence(number));
            prop_assert_eq!(read(&cursor).ok(), Some(Sequence(number)));
            let mut damaged = cursor.clone();
            damaged.replace_range(at..=at, &by);
            prop_assert!(damaged == cursor || read(&damaged).is_err());
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = read(&text);
        }
    }
}
