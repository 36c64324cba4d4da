//! `after`: a position in the change log, as text for the next request. It is opaque to clients and
//! checked like any cursor.

use application::Sequence;
use sha2::{Digest, Sha256};

use super::cursor::{decode, encode};
use crate::hash::first_64_bits;

/// Names the layout: this byte, the history and the number.
const VERSION: u8 = 2;

/// The history of the store, as cursors name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryHash(u64);

impl HistoryHash {
    /// The history of this id.
    pub fn of(id: &str) -> Self {
        Self(first_64_bits(Sha256::new_with_prefix(id)))
    }
}

/// A position in the change log of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeCursor {
    /// The history.
    pub history: HistoryHash,
    /// The last change before it.
    pub sequence: Sequence,
}

/// The cursor of a position.
pub fn write(ChangeCursor { history, sequence }: ChangeCursor) -> String {
    let mut content = vec![VERSION];
    content.extend(history.0.to_be_bytes());
    content.extend(sequence.0.to_be_bytes());
    encode(content)
}

/// A cursor for the document.
pub fn example(number: i64) -> String {
    write(ChangeCursor { history: HistoryHash::of("example"), sequence: Sequence(number) })
}

/// The position of a cursor that this service made.
pub fn read(cursor: &str) -> Option<ChangeCursor> {
    let bytes = decode(cursor)?;
    let (&[VERSION], rest) = bytes.split_first_chunk()? else { return None };
    let (history, number) = rest.split_first_chunk()?;
    let number = i64::from_be_bytes(number.try_into().ok()?);
    let history = HistoryHash(u64::from_be_bytes(*history));
    (number >= 0).then_some(ChangeCursor { history, sequence: Sequence(number) })
}

#[cfg(test)]
mod tests {
    use application::Sequence;
    use proptest::prelude::*;

    use super::{ChangeCursor, HistoryHash, read, write};

    proptest! {
        #[test]
        fn a_cursor_comes_back_and_a_damaged_one_does_not(number in 0..i64::MAX, at in 0..16_usize, by in "[A-Za-z0-9_=-]?") {
            let position = ChangeCursor { history: HistoryHash::of("h"), sequence: Sequence(number) };
            let cursor = write(position);
            prop_assert_eq!(read(&cursor), Some(position));
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
