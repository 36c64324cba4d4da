//! `after`: an opaque position in the change log, checked like any cursor.

use application::Sequence;
use sha2::{Digest, Sha256};

use super::cursor::{decode, encode};
use crate::hash::first_64_bits;

/// The layout: this byte, the history, the number.
const VERSION: u8 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryHash(u64);

impl HistoryHash {
    pub fn of(id: &str) -> Self {
        Self(first_64_bits(Sha256::new_with_prefix(id)))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeCursor {
    pub history: HistoryHash,
    pub sequence: Sequence,
}

pub fn write(ChangeCursor { history, sequence }: ChangeCursor) -> String {
    let mut content = vec![VERSION];
    content.extend(history.0.to_be_bytes());
    content.extend(sequence.0.to_be_bytes());
    encode(content)
}

pub fn example(number: i64) -> String {
    write(ChangeCursor { history: HistoryHash::of("example"), sequence: Sequence(number) })
}

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
    }
}
