//! `after`: a position in the change log, as text for the next request. It is opaque to clients and
//! checked like any cursor.

use application::Sequence;

use super::cursor::{decode, encode};

/// Names the layout: this byte, and the number.
const VERSION: u8 = 1;

/// The cursor of a change.
pub fn write(Sequence(number): Sequence) -> String {
    let mut content = vec![VERSION];
    content.extend(number.to_be_bytes());
    encode(content)
}

/// The position of a cursor that this service made.
pub fn read(cursor: &str) -> Option<Sequence> {
    let bytes = decode(cursor)?;
    let (&[VERSION], number) = bytes.split_first_chunk()? else { return None };
    let number = i64::from_be_bytes(number.try_into().ok()?);
    (number >= 0).then_some(Sequence(number))
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
            prop_assert_eq!(read(&cursor), Some(Sequence(number)));
            let mut damaged = cursor.clone();
            damaged.replace_range(at..=at, &by);
            prop_assert!(damaged == cursor || read(&damaged).is_none());
        }

        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,40}") {
            let _ = read(&text);
        }
    }
}
