//! What is shown with an item: which of all that was found belongs to it.

use application::query::Embed;
use application::{Embedded, ShownItem};

/// The items of one sort that are embedded in an item.
#[derive(Clone, Copy, Debug)]
pub enum Beside<'a> {
    /// As many as there are.
    Many(&'a [ShownItem]),
    /// One, or none.
    One(Option<&'a ShownItem>),
}

impl<'a> Beside<'a> {
    /// What of this sort is shown with `shown`; `None` when nobody asked for it.
    #[must_use]
    pub fn of(embed: Embed, shown: &ShownItem, embedded: &'a Embedded) -> Option<Self> {
        let by_id = |id: Option<domain::ItemId>, found: &'a std::collections::HashMap<_, _>| {
            Self::One(id.and_then(|id| found.get(&id)))
        };
        match embed {
            Embed::Library => {
                let of_item = |libraries: &'a std::collections::HashMap<_, Vec<ShownItem>>| {
                    libraries.get(&shown.item.id)
                };
                embedded
                    .libraries
                    .as_ref()
                    .map(|libraries| Self::Many(of_item(libraries).map_or(&[], Vec::as_slice)))
            }
            Embed::Program => {
                embedded.programs.as_ref().map(|programs| by_id(shown.relations.program, programs))
            }
            Embed::Proposal => {
                embedded.proposals.as_ref().map(|proposals| by_id(shown.item.parent, proposals))
            }
        }
    }

    /// The items.
    #[must_use]
    pub fn items(self) -> &'a [ShownItem] {
        match self {
            Self::Many(items) => items,
            Self::One(item) => item.map_or(&[], std::slice::from_ref),
        }
    }
}

/// All items that are embedded in an item, in the order they are shown in.
pub fn all<'a>(
    sorts: &'static [(&'static str, Embed)],
    shown: &'a ShownItem,
    embedded: &'a Embedded,
) -> impl Iterator<Item = &'a ShownItem> {
    sorts
        .iter()
        .filter_map(|(_, embed)| Beside::of(*embed, shown, embedded))
        .flat_map(Beside::items)
}
