//! Dossiers: an item with all that belongs to it or names it, at one time.

use domain::{Collection, Item, Operation, Version};
use jiff::Timestamp;

use super::PAST;
use crate::ports::{ListedPage, PastPageQuery, Scope};
use crate::query::{PageStart, SortPosition};
use crate::resources::ResourceService;
use crate::resources::visibility::missing;
use crate::{ApplicationError, Caller, ItemAddress, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointInTime {
    Now,
    At(Timestamp),
    /// When the item got this version.
    Of(Version),
}

/// The item of a dossier, and the time of its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dossier {
    pub item: Item,
    pub time: Timestamp,
    /// False for the state of now, which requires no right to the history.
    pub is_past: bool,
}

impl Dossier {
    const fn operations(&self) -> &'static [Operation] {
        if self.is_past { PAST } else { &[Operation::Read] }
    }
}

impl ResourceService {
    /// Finds the item of a dossier. Its state of now is that of the last change in the store, so all
    /// pages of the dossier have one state, which includes each acknowledged write.
    pub async fn dossier(
        &self,
        caller: &Caller,
        address: ItemAddress,
        moment: PointInTime,
    ) -> Result<Dossier> {
        let (time, found) = match moment {
            PointInTime::Now => {
                self.find(caller, address).await?;
                let time = self.ports.history.latest_time().await?;
                let time = time.ok_or(ApplicationError::ItemNotFound)?;
                let reach = self.reach(caller, address.parent).await?;
                let found = self.ports.history.version_at(&reach, address.id, time).await?;
                let found =
                    found.ok_or_else(|| missing(caller, &reach, ApplicationError::ItemNotFound))?;
                let item = found.item.clone().ok_or(ApplicationError::ItemNotFound)?;
                (time, (found, item))
            }
            PointInTime::At(time) => (time, self.get_at(caller, address, time, None).await?),
            PointInTime::Of(version) => {
                let (found, item) = self.version(caller, address, version).await?;
                (found.change.time, (found, item))
            }
        };
        let (found, item) = found;
        if let Some(removed_at) = found.change.removed_at {
            return Err(ApplicationError::BodyRemoved { version: item.version, removed_at });
        }
        Ok(Dossier { item, time, is_past: moment != PointInTime::Now })
    }

    /// Returns the next items of a collection that belong to the item of a dossier, or name it by a
    /// member; no items of a collection that the caller may not read.
    pub async fn dossier_items(
        &self,
        caller: &Caller,
        dossier: &Dossier,
        (collection, member): (Collection, Option<&'static str>),
        after: Option<SortPosition>,
        limit: u64,
    ) -> Result<ListedPage> {
        let id = dossier.item.id;
        let parent = if member.is_some() { None } else { Some(id) };
        let reach =
            self.access.reach(caller, Scope { collection, parent }, dossier.operations())?;
        let query = PastPageQuery {
            position: after.map_or(PageStart::Offset(0), PageStart::After),
            limit,
            is_counted: false,
            naming: member.map(|member| (member, id)),
        };
        Ok(self.ports.history.page_at(&reach, dossier.time, &query).await?)
    }

    /// The collections of a dossier that the caller may read, each with the member that names the item.
    pub fn dossier_collections(
        &self,
        caller: &Caller,
        dossier: &Dossier,
    ) -> Vec<(Collection, Option<&'static str>)> {
        let permissions = self.access.permissions(caller);
        let is_read = |collection: Collection| {
            dossier
                .operations()
                .iter()
                .all(|operation| permissions.has_some(collection, *operation))
        };
        self.collection.dependents().filter(|(collection, _)| is_read(*collection)).collect()
    }
}
