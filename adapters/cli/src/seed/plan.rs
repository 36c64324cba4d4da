//! The order in which rows are written.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use domain::ItemId;

/// The average number of proposals of a programme, and the most programmes.
const PROPOSALS_OF_A_PROGRAM: u64 = 50;
const MOST_PROGRAMS: u64 = 1_000;

/// A row to be written; numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A programme.
    Program(u64),
    /// A proposal.
    Proposal(u64),
    /// A library item: the number and the id of its proposal, and its own number in the library.
    LibraryItem { proposal: u64, parent: ItemId, number: u64 },
}

/// Gives out the programmes, then the proposals when all programmes are written, and each library
/// item when its proposal is. It keeps no more than the ids of the programmes and the proposals
/// whose writes were in flight together.
#[derive(Debug)]
pub struct Plan {
    next_program: Range<u64>,
    written: Vec<Option<ItemId>>,
    /// The ids of all programmes; empty until all are written.
    programs: Arc<[ItemId]>,
    proposals: Range<u64>,
    library: u64,
    parents: VecDeque<(u64, ItemId, Range<u64>)>,
}

impl Plan {
    /// A plan for a number of proposals, each with a number of library items.
    pub fn new(proposals: u64, library: u64) -> Self {
        let programs = proposals.div_ceil(PROPOSALS_OF_A_PROGRAM).min(MOST_PROGRAMS);
        Self {
            next_program: 0..programs,
            written: (0..programs).map(|_| None).collect(),
            programs: Arc::default(),
            proposals: 0..proposals,
            library,
            parents: VecDeque::new(),
        }
    }

    /// The number of rows in all.
    pub fn rows(&self) -> u64 {
        self.written.len() as u64 + self.proposals.end * (1 + self.library)
    }

    /// Takes note that a row was written.
    pub fn note(&mut self, row: Row, id: ItemId) {
        match row {
            Row::Program(number) => {
                if let Some(place) =
                    usize::try_from(number).ok().and_then(|at| self.written.get_mut(at))
                {
                    *place = Some(id);
                }
                if let Some(all) = self.written.iter().copied().collect::<Option<Vec<_>>>() {
                    self.programs = all.into();
                }
            }
            Row::Proposal(number) if self.library > 0 => {
                self.parents.push_back((number, id, 0..self.library));
            }
            Row::Proposal(_) | Row::LibraryItem { .. } => {}
        }
    }

    /// The next row, and the programmes a proposal may name; `None` when rows that were given out
    /// must be written first, or at the end.
    pub fn next(&mut self) -> Option<(Row, Arc<[ItemId]>)> {
        let row = if let Some(number) = self.next_program.next() {
            Row::Program(number)
        } else if self.programs.len() < self.written.len() {
            return None;
        } else {
            // Libraries come first: otherwise all proposals would be written before them and wait
            // in memory.
            self.library_item().or_else(|| self.proposals.next().map(Row::Proposal))?
        };
        Some((row, Arc::clone(&self.programs)))
    }

    fn library_item(&mut self) -> Option<Row> {
        let (proposal, parent, numbers) = self.parents.front_mut()?;
        let number = numbers.next()?;
        let row = Row::LibraryItem { proposal: *proposal, parent: *parent, number };
        if numbers.is_empty() {
            self.parents.pop_front();
        }
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use domain::ItemId;

    use super::{Plan, Row};

    fn id() -> ItemId {
        ItemId::parse("01890a5d-ac96-774b-bcce-b302099a8050").unwrap()
    }

    fn next(plan: &mut Plan) -> Option<Row> {
        plan.next().map(|(row, _)| row)
    }

    #[test]
    fn proposals_wait_for_programmes_and_libraries_for_their_proposal() {
        let mut plan = Plan::new(2, 2);
        assert_eq!(plan.rows(), 7);
        assert_eq!((next(&mut plan), next(&mut plan)), (Some(Row::Program(0)), None));
        plan.note(Row::Program(0), id());
        assert_eq!(plan.next().map(|(_, programs)| programs.len()), Some(1));
        plan.note(Row::Proposal(0), id());
        for number in [0, 1] {
            let row = Row::LibraryItem { proposal: 0, parent: id(), number };
            assert_eq!(next(&mut plan), Some(row));
        }
        assert_eq!((next(&mut plan), next(&mut plan)), (Some(Row::Proposal(1)), None));
    }

    #[test]
    fn proposals_may_have_no_library() {
        let mut plan = Plan::new(3, 0);
        plan.next();
        plan.note(Row::Program(0), id());
        plan.note(Row::Proposal(0), id());
        assert_eq!(std::iter::from_fn(|| plan.next()).count(), 3);
    }
}
