//! Which row is written next.

use std::collections::VecDeque;

use domain::ItemId;

/// One row that is to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// The proposal with this number, from 0.
    Proposal(u64),
    /// A library item.
    LibraryItem {
        /// The number of its proposal.
        proposal: u64,
        /// The proposal's id in the store.
        owner: ItemId,
        /// Its own number in the proposal's library, from 0.
        number: u64,
    },
}

/// A proposal that was written and whose library was not, or not all of it.
#[derive(Debug)]
struct Owner {
    proposal: u64,
    id: ItemId,
    written: u64,
}

/// Gives out the rows in order, each library item as soon as its proposal is there. It remembers no
/// more than the proposals whose writes were in flight together.
#[derive(Debug)]
pub struct Plan {
    proposals: std::ops::Range<u64>,
    library: u64,
    owners: VecDeque<Owner>,
}

impl Plan {
    /// So many proposals, with so many library items each.
    pub fn new(proposals: u64, library: u64) -> Self {
        Self { proposals: 0..proposals, library, owners: VecDeque::new() }
    }

    /// Takes note that a proposal was written, so that its library may follow.
    pub fn proposal_written(&mut self, proposal: u64, id: ItemId) {
        if self.library > 0 {
            self.owners.push_back(Owner { proposal, id, written: 0 });
        }
    }

    /// Gives out no more rows.
    pub fn stop(&mut self) {
        *self = Self::new(0, 0);
    }
}

impl Iterator for Plan {
    type Item = Row;

    /// Libraries come first: otherwise all proposals would be written before them and wait in
    /// memory.
    fn next(&mut self) -> Option<Row> {
        let Some(owner) = self.owners.front_mut() else {
            return self.proposals.next().map(Row::Proposal);
        };
        let row =
            Row::LibraryItem { proposal: owner.proposal, owner: owner.id, number: owner.written };
        owner.written += 1;
        if owner.written == self.library {
            self.owners.pop_front();
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

    #[test]
    fn a_library_follows_its_proposal() {
        let mut plan = Plan::new(2, 2);
        assert_eq!(plan.next(), Some(Row::Proposal(0)));
        plan.proposal_written(0, id());
        for number in [0, 1] {
            assert_eq!(plan.next(), Some(Row::LibraryItem { proposal: 0, owner: id(), number }));
        }
        assert_eq!((plan.next(), plan.next()), (Some(Row::Proposal(1)), None));
        plan.proposal_written(1, id());
        assert_eq!((plan.by_ref().count(), plan.next()), (2, None));
    }

    #[test]
    fn proposals_may_have_no_library() {
        let mut plan = Plan::new(3, 0);
        plan.proposal_written(0, id());
        assert_eq!(plan.count(), 3);
    }

    #[test]
    fn nothing_follows_a_stop() {
        let mut plan = Plan::new(9, 9);
        plan.proposal_written(0, id());
        plan.stop();
        plan.proposal_written(1, id());
        assert_eq!(plan.next(), None);
    }
}
