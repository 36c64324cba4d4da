//! Marks among the items of a collection, as of a change of the log.

use sea_orm::FromQueryResult;
use uuid::Uuid;

use crate::sql::page::PageMark;

/// Items between two marks when they are set (`marks_set.sql`).
const DISTANCE: i64 = 1_000;

/// A mark, or an item that was added or removed.
#[derive(FromQueryResult)]
pub(super) struct Found {
    pub id: Uuid,
    /// The number of the change; 0 of a mark.
    pub sequence: i64,
    /// 1 of an item that was added, -1 of one that was removed, 0 of a mark.
    pub added: i64,
    pub total: i64,
}

/// The items from an id up to the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    first: Uuid,
    items: i64,
}

#[derive(Debug)]
pub(super) struct Marks {
    pub sequence: i64,
    /// A number that changes when the store may have lost changes.
    pub epoch: u64,
    blocks: Vec<Block>,
}

impl Marks {
    pub fn none(sequence: i64, epoch: u64) -> Self {
        Self { sequence, epoch, blocks: vec![Block { first: Uuid::nil(), items: 0 }] }
    }

    pub fn last_block(&self) -> (Uuid, i64) {
        self.blocks.last().map_or_else(Default::default, |last| (last.first, last.items))
    }

    /// Divides the last block at the marks in the rows, with the items added or removed since.
    pub fn divide(&mut self, rows: &[Found]) -> Option<()> {
        let begin = self.blocks.pop()?;
        let (marks, moved): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.sequence == 0);
        let since: i64 = moved.iter().map(|row| row.added).sum();
        // The first count is that of the totals.
        let items = if self.blocks.is_empty() { rows.first()?.total - since } else { begin.items };
        let first = self.blocks.len();
        self.blocks.push(Block { items: DISTANCE, ..begin });
        // The first mark is the beginning of the block.
        let inner = marks.iter().skip(1);
        self.blocks.extend(inner.map(|mark| Block { first: mark.id, items: DISTANCE }));
        for row in moved.iter().filter(|row| row.id >= begin.first) {
            let block = self.block_of(row.id)?;
            self.blocks[block].items -= row.added;
        }
        let last = self.blocks.len() - 1;
        let others: i64 = self.blocks[first..last].iter().map(|block| block.items).sum();
        self.blocks[last].items = items - others;
        self.are_sound()
    }

    /// Moves the marks to a later change; `None` if the log does not match them.
    pub fn advance(&mut self, sequence: i64, moved: &[Found]) -> Option<()> {
        for row in moved {
            let block = self.block_of(row.id)?;
            self.blocks[block].items += row.added;
        }
        self.sequence = sequence;
        self.are_sound()
    }

    /// The last mark at least `margin` items before `offset`, from the end if `is_descending`.
    pub fn before(&self, offset: i64, margin: i64, is_descending: bool) -> Option<PageMark> {
        let items = self.blocks.iter().map(|block| block.items).sum();
        let (mut passed, mut found) = (0, None);
        let mut take = |block: &Block, is_passed: bool| {
            passed += if is_passed { block.items } else { 0 };
            if passed > offset - margin {
                return false;
            }
            found = Some(PageMark { id: block.first, passed, items, sequence: self.sequence });
            passed += if is_passed { 0 } else { block.items };
            true
        };
        if is_descending {
            let _ = self.blocks.iter().rev().all(|block| take(block, true));
        } else {
            let _ = self.blocks.iter().all(|block| take(block, false));
        }
        found
    }

    fn block_of(&self, id: Uuid) -> Option<usize> {
        self.blocks.partition_point(|block| block.first <= id).checked_sub(1)
    }

    fn are_sound(&self) -> Option<()> {
        self.blocks.iter().all(|block| block.items >= 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::{Found, Marks};
    use crate::sql::page::PageMark;

    const TOTAL: i64 = 3_500;

    fn id(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn found(number: u128, sequence: i64, added: i64) -> Found {
        Found { id: id(number), sequence, added, total: TOTAL }
    }

    /// Items with the numbers from 1 on; two of them came after the marks' change, and one went.
    fn marks() -> Marks {
        let mut marks = Marks::none(10, 0);
        let set = [1, 1_001, 2_001, 3_001].map(|number| found(number, 0, 0));
        let since = [found(1_500, 11, 1), found(3_400, 12, 1), found(2_000, 13, -1)];
        marks.divide(&set.into_iter().chain(since).collect::<Vec<_>>()).unwrap();
        marks
    }

    fn place(mark: Option<PageMark>) -> Option<(u128, i64)> {
        mark.map(|mark| (mark.id.as_u128(), mark.passed))
    }

    #[test]
    fn marks_are_as_of_their_change() {
        let marks = marks();
        assert_eq!(marks.before(0, 0, false).unwrap().items, TOTAL - 1);
        for (offset, margin, expected) in [
            (999, 0, Some((0, 0))),
            (1_000, 0, Some((1_001, 1_000))),
            (2_500, 0, Some((2_001, 2_000))),
            (2_500, 600, Some((1_001, 1_000))),
            (9_000, 0, Some((3_001, 3_000))),
            (5, 6, None),
        ] {
            assert_eq!(place(marks.before(offset, margin, false)), expected, "{offset}");
        }
        for (offset, expected) in [
            (498, None),
            (499, Some((3_001, 499))),
            (1_499, Some((2_001, 1_499))),
            (9_000, Some((0, 3_499))),
        ] {
            assert_eq!(place(marks.before(offset, 0, true)), expected, "{offset} from the end");
        }
    }

    #[test]
    fn marks_advance_with_the_log() {
        let mut marks = marks();
        let moved =
            [found(1_500, 11, 1), found(3_400, 12, 1), found(2_000, 13, -1), found(7, 14, 0)];
        marks.advance(14, &moved).unwrap();
        let mark = marks.before(3_400, 0, false).unwrap();
        assert_eq!(mark, PageMark { id: id(3_001), passed: 3_000, items: TOTAL, sequence: 14 });
        let too_many: Vec<_> = (0..1_001).map(|number| found(number, 15, -1)).collect();
        assert_eq!(marks.advance(15, &too_many), None, "more went than there were");
    }

    #[test]
    fn the_last_block_is_divided_when_it_has_grown() {
        let mut marks = marks();
        let more: Vec<_> = (0..2_000).map(|number| found(4_000 + number, 20, 1)).collect();
        marks.advance(20, &more).unwrap();
        assert_eq!(marks.last_block(), (id(3_001), 2_499));
        let set = [3_001, 4_501, 5_501].map(|number| found(number, 0, 0));
        marks.divide(&set).unwrap();
        assert_eq!(marks.last_block(), (id(5_501), 499));
        assert_eq!(place(marks.before(5_000, 0, false)), Some((5_501, 5_000)));
    }
}
