//! Comparing pages of the past with the model.

use application::PastPageQuery;
use application::query::{PageStart, SortPosition, Total};
use domain::{Item, ItemId, Value};
use jiff::Timestamp;

use super::history::History;
use super::random_write;

use crate::store::reach;

impl History<'_> {
    /// A page of a time in the past, from its beginning and on from its last item.
    pub(super) async fn compare_past_page(&mut self) {
        let scope = self.scope();
        let time = self.past_time();
        let mut all = self.model.items_at(scope, time);
        let naming = self.naming(&all, scope.collection.spec().references.first());
        if let Some((member, named)) = naming {
            all.retain(|(item, removed_at)| self.named(item, *removed_at, member, named));
        }
        let limit = self.random.usize(1..6);
        let place = self.random.choice(&all).map(|(item, _)| item.id);
        let place = place.unwrap_or_else(|| random_write::promised(scope.collection, 2));
        let at = SortPosition { keys: Vec::new(), id: place };
        let offset = self.random.usize(..4);
        for position in [
            PageStart::Offset(offset as u64),
            PageStart::After(at.clone()),
            PageStart::Before(at.clone()),
        ] {
            let expected: Vec<_> = match position {
                PageStart::Offset(_) => all.iter().skip(offset).collect(),
                PageStart::After(_) => all.iter().filter(|(item, _)| item.id > place).collect(),
                PageStart::Before(_) => all.iter().filter(|(item, _)| item.id < place).collect(),
            };
            let has_more = expected.len() > limit;
            let end = if matches!(position, PageStart::Before(_)) { expected.len() } else { limit };
            let (from, to) = (end.saturating_sub(limit), end.min(expected.len()));
            let is_counted = self.random.bool();
            let query = PastPageQuery { position, limit: limit as u64, is_counted, naming };
            let found = self.history().page_at(&reach(scope), time, &query).await.unwrap();
            let items = found.items.iter().map(|listed| (&listed.shown.item, &listed.removed_at));
            let expected = expected[from..to].iter().map(|(item, removed_at)| (item, removed_at));
            assert!(items.eq(expected), "{scope:?} at {time}: {query:?}: {found:?}");
            assert_eq!(found.has_more, has_more, "{scope:?} at {time}: {query:?}");
            let counted = Total::Exact(all.len() as u64);
            assert_eq!(found.total, if is_counted { counted } else { Total::NotCounted });
        }
    }

    /// An item that one of these names.
    fn naming(
        &mut self,
        all: &[(Item, Option<Timestamp>)],
        reference: Option<&domain::collection::Reference>,
    ) -> Option<(&'static str, ItemId)> {
        let member = reference?.member;
        let (item, _) = self.random.choice(all)?;
        let named = reference_in(&item.members, member)?;
        self.random.bool().then_some((member, named))
    }

    /// Of a version without its body, the current one decides.
    fn named(
        &self,
        item: &Item,
        removed_at: Option<Timestamp>,
        member: &str,
        named: ItemId,
    ) -> bool {
        let is_named = |members: &str| reference_in(members, member) == Some(named);
        match removed_at {
            None => is_named(&item.members),
            Some(_) => self.model.body(item.id).is_some_and(|body| is_named(&body.encoded)),
        }
    }
}

fn reference_in(members: &str, member: &str) -> Option<ItemId> {
    ItemId::parse(&Value::from_encoded(members).member(member)?.as_string()?)
}
