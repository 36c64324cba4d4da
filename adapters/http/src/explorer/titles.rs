//! Titles of items, which pages show in place of identifiers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use application::Caller;
use domain::{Collection, Item, ItemId, Value};

use super::Explorer;
use super::cells::{self, Cell, SHORT, ShownValue, shortened};
use super::links::ExplorerLinks;
use super::reader::Reader;
use crate::groups::{Group, GroupSpec};
use crate::problem::Result;

/// The titles of those items that a caller may read.
#[derive(Default)]
pub struct Titles(HashMap<(Collection, ItemId), String>);

impl Titles {
    pub fn of(&self, collection: Collection, id: ItemId) -> Option<&str> {
        self.0.get(&(collection, id)).map(String::as_str)
    }

    /// A member as a cell of a table: a reference has the title of its item and a link.
    pub fn cell(
        &self,
        (reader, links): (&Reader, &ExplorerLinks),
        collection: Collection,
        (member, value): (&str, &ShownValue),
    ) -> Cell {
        if let (Some(to), ShownValue::Simple(text)) = (referenced(collection, member), value)
            && let Some(id) = ItemId::parse(text)
            && let Some(title) = self.of(to, id)
        {
            return Cell { text: title.to_owned(), href: Some(links.item(to, id)) };
        }
        let text = match value {
            ShownValue::Simple(text) => shortened(&reader.choice(collection, member, text), SHORT),
            other => other.short(),
        };
        Cell { text, href: None }
    }
}

/// Returns the title of an item; `None` if it has none.
pub fn item_title(collection: Collection, item: &Item) -> Option<String> {
    let title = cells::title(item, GroupSpec::of(collection).columns);
    Some(title).filter(|title| *title != item.id.to_string())
}

/// The collection of the items that a member names.
pub fn referenced(collection: Collection, member: &str) -> Option<Collection> {
    let spec = collection.spec();
    let mut references = spec.references.iter().chain(&spec.about);
    let reference = references.find(|reference| reference.member == member)?;
    Some(Collection::known(reference.to))
}

/// The item that a value of a member names.
pub fn named_item(group: Group, member: &str, value: &ShownValue) -> Option<(Collection, ItemId)> {
    let ShownValue::Simple(text) = value else { return None };
    Some((referenced(group.collection, member)?, ItemId::parse(text)?))
}

/// The items that the members of an item name.
pub fn references(collection: Collection, item: &Item) -> Vec<(Collection, ItemId)> {
    let (spec, members) = (collection.spec(), Value::from_encoded(&item.members));
    let references = spec.references.iter().chain(&spec.about).filter_map(|reference| {
        let id = ItemId::parse(&members.member(reference.member)?.as_string()?)?;
        Some((Collection::known(reference.to), id))
    });
    references.collect()
}

impl Explorer {
    /// Reads the titles with one query for each collection.
    pub(super) async fn titles(
        &self,
        caller: &Caller,
        items: impl IntoIterator<Item = (Collection, ItemId)> + Send,
    ) -> Result<Titles> {
        let mut wanted: BTreeMap<Collection, BTreeSet<ItemId>> = BTreeMap::new();
        for (collection, id) in items {
            wanted.entry(collection).or_default().insert(id);
        }
        let mut titles = Titles::default();
        for (collection, ids) in wanted {
            let (group, ids) = (GroupSpec::of(collection), Vec::from_iter(ids));
            let fields = [group.columns[0].into()].into();
            for shown in self.service(group)?.get_fields(caller, &ids, &fields).await? {
                let title = cells::title(&shown.item, group.columns);
                titles.0.insert((collection, shown.item.id), title);
            }
        }
        Ok(titles)
    }
}
