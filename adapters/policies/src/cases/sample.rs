//! Sample callers and items in files.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::convert::Infallible;
use std::sync::Arc;

use application::Caller;
use domain::json::decode;
use domain::predicate::{Judged, Lookups};
use domain::{
    Collection, Found, Item, Lookup, LookupKey, Mask, Members, Operation, Predicate, Value,
    Version, VisibleMembers,
};
use jiff::Timestamp;
use language::error::ErrorCollector;
use language::keys::{self, Keys};
use language::sample;
use language::yaml::{Content, Node};

use crate::file_format::{ANONYMOUS, GROUP_NAME, META};

/// The limit of one sample item in bytes.
const MOST_BYTES: usize = 1 << 20;
/// 2026-01-01T00:00:00Z.
const SOME_TIME: Timestamp = Timestamp::constant(1_767_225_600, 0);

pub(crate) fn caller(node: &Node, errors: &mut ErrorCollector<'_>) -> Option<Caller> {
    if node.scalar().is_some_and(|scalar| scalar.text == ANONYMOUS) {
        return Some(None.into());
    }
    if let Some(id) = node.scalar().filter(|id| !id.text.contains(':') && !node.is_null()) {
        let reason = format!(
            "`{}` is not a caller; write an id such as `agency:1`, or `{ANONYMOUS}`",
            id.text
        );
        errors.add(node.place, reason);
        return None;
    }
    let principal = language::caller::read(node, errors)?;
    if principal.is_none() && matches!(node.content, Content::Mapping(_)) {
        // A caller without an identifier is anonymous and has no roles.
        let reason = format!(
            "a caller needs an `id`, such as `id: 'agency:1'`; write `{ANONYMOUS}` for a caller without an id"
        );
        errors.add(node.place, reason);
        return None;
    }
    Some(principal.into())
}

/// An item, its state before a write, and the items of other groups.
#[derive(Clone, Debug)]
pub(crate) struct SampleItem {
    pub collection: Collection,
    new: Item,
    old: Option<Item>,
    others: Vec<(Collection, Vec<Item>)>,
    pub bytes: usize,
}

impl SampleItem {
    pub fn read(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> Option<Self> {
        let meta =
            keys.get("meta").map_or(Some(Meta::default()), |node| Meta::read(node, errors))?;
        let parent = errors.take(sample::id(keys.get("parent"), "parent"))?;
        let mut item = |key| match keys.get(key) {
            Some(node) => item(node, 0, errors).map(Some),
            None => Some(None),
        };
        let own = |item: Item| Item { parent, ..meta.clone().of(item) };
        let (new, old) = (item("self")?, item("old")?);
        let new = own(new.unwrap_or_else(|| made_up(0, Members::default())));
        let old = old.map(|old| own(Item { id: new.id, ..old }));
        let others = others(keys, errors)?;
        let items = || others.iter().flat_map(|(_, items)| items).chain(&old).chain([&new]);
        let bytes = items().map(|item| item.members.len()).sum();
        let collection = Collection::named(keys.string("group")?)?;
        Some(Self { collection, new, old, others, bytes })
    }

    /// The names of the members before and after a write.
    pub fn members(&self) -> impl Iterator<Item = String> {
        let items = self.old.iter().chain([&self.new]);
        let entries = items.filter_map(|item| Value::from_encoded(&item.members).entries());
        entries.flatten().map(|(name, _)| decode(name).into_owned())
    }

    /// Judges an operation on the item; `None` if it cannot be decided.
    pub fn judge(&self, operation: Operation, predicate: &Predicate) -> Option<bool> {
        let stored = self.old.as_ref().unwrap_or(&self.new);
        let judged = match operation {
            Operation::Create => Judged::of(&self.new),
            Operation::Replace | Operation::Patch => {
                Judged { current: &self.new, old: Some(stored) }
            }
            Operation::Read | Operation::History | Operation::Delete => Judged::of(stored),
        };
        predicate.judge(judged, &mut SampleLookups { of: self, found: HashMap::new() })
    }

    /// Returns the members that a reader does not see.
    pub fn hidden(&self, mask: Option<&Arc<Mask>>) -> Vec<String> {
        let Some(visible) = self.decided(mask, Operation::Read) else { return Vec::new() };
        visible.hidden(self.old.as_ref().unwrap_or(&self.new))
    }

    /// Returns whether a write changes only members within a mask.
    pub fn changes_only(&self, mask: Option<&Arc<Mask>>, operation: Operation) -> bool {
        let Some(writable) = self.decided(mask, operation) else { return true };
        let members = |item: &Item| Members::read(item.members.as_bytes()).ok().flatten();
        let stored = self.old.as_ref().unwrap_or(&self.new);
        let before = members(stored).filter(|_| operation != Operation::Create);
        members(&self.new).is_some_and(|new| writable.changed(before.as_ref(), &new).is_empty())
    }

    fn decided(&self, mask: Option<&Arc<Mask>>, operation: Operation) -> Option<VisibleMembers> {
        let judge = |condition: &Predicate| {
            Ok::<_, Infallible>(self.judge(operation, condition) == Some(true))
        };
        VisibleMembers::decide(mask?, judge).ok()
    }
}

#[derive(Clone, Default)]
struct Meta {
    created_by: Option<Arc<str>>,
    created_at: Option<Timestamp>,
}

impl Meta {
    fn read(node: &Node, errors: &mut ErrorCollector<'_>) -> Option<Self> {
        let keys = Keys::of(node, &META, Some(&[]), errors)?;
        let created_by = match keys.get("created_by").filter(|node| !node.is_null()) {
            Some(node) => Some(errors.take(keys::string(node, "created_by"))?.text.as_str().into()),
            None => None,
        };
        let created_at = keys.string("created_at").and_then(|time| time.parse().ok());
        Some(Self { created_by, created_at })
    }

    fn of(self, item: Item) -> Item {
        let created_at = self.created_at.unwrap_or(item.created_at);
        Item { created_by: self.created_by, created_at, ..item }
    }
}

struct SampleLookups<'a> {
    of: &'a SampleItem,
    found: HashMap<Lookup, Found>,
}

impl Lookups for SampleLookups<'_> {
    fn found(&mut self, lookup: Lookup) -> Option<&Found> {
        Some(match self.found.entry(lookup) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(unknown) => {
                let of = |(collection, _): &&(_, _)| *collection == unknown.key().collection;
                let items = self.of.others.iter().find(of).map_or(&[][..], |(_, items)| items);
                let items = items.iter().filter(|item| is_found(item, &unknown.key().key));
                let found = Found::of(items.cloned().collect());
                unknown.insert(found)
            }
        })
    }
}

/// Returns whether a lookup finds a sample. One without the member of the lookup is found by any
/// value.
fn is_found(item: &Item, key: &LookupKey) -> bool {
    match key {
        // Every sample has a made-up id unless the file names one.
        LookupKey::Id(id) => item.id == *id || item.version == MADE_UP,
        LookupKey::Parent(parent) => item.parent.is_none_or(|own| own == *parent),
        LookupKey::Member { name, value } => {
            let own = Value::from_encoded(&item.members).member(name);
            own.is_none_or(|own| own.as_written().is_some_and(|own| own == **value))
        }
        LookupKey::Nothing => false,
    }
}

/// The version of a sample without an id.
const MADE_UP: Version = Version::from_number(0);

fn made_up(number: usize, members: Members) -> Item {
    Item {
        id: sample::made_up_id(number),
        version: MADE_UP,
        created_at: SOME_TIME,
        updated_at: SOME_TIME,
        members: members.into_encoded(),
        parent: None,
        continues: None,
        created_by: None,
    }
}

/// Reads an item. `id`, `parent` and `meta` are not members.
fn item(node: &Node, number: usize, errors: &mut ErrorCollector<'_>) -> Option<Item> {
    let (mut bytes_left, too_large) =
        (MOST_BYTES, format!("an item has more than {MOST_BYTES} bytes"));
    let members = errors.take(sample::members(node, &mut bytes_left, &too_large))??;
    let mut taken =
        |name: &str| errors.take(sample::id(node.entry(name).map(|entry| &*entry.value), name));
    let (own, parent) = (taken("id")?, taken("parent")?);
    let meta = match node.entry("meta") {
        Some(entry) => Meta::read(&entry.value, errors)?,
        None => Meta::default(),
    };
    let members = members.retain(|name, _| !["id", "parent", "meta"].contains(&name));
    let made_up = meta.of(made_up(number, members));
    Some(match own {
        Some(id) => Item { id, version: Version::FIRST, parent, ..made_up },
        None => Item { parent, ..made_up },
    })
}

/// Reads the items of other groups. Later ones are newer.
fn others(
    keys: &Keys<'_>,
    errors: &mut ErrorCollector<'_>,
) -> Option<Vec<(Collection, Vec<Item>)>> {
    let Some(node) = keys.get("lookup") else { return Some(Vec::new()) };
    let (mut others, mut number) = (Vec::new(), 0);
    for entry in errors.take(keys::entries(node, "`lookup`"))? {
        errors.take(GROUP_NAME.check(&entry.key, entry.place))?;
        let collection = Collection::named(&entry.key)?;
        let mut items = Vec::new();
        for element in errors.take(keys::list(&entry.value, &entry.key))? {
            number += 1;
            items.push(item(element, number, errors)?);
        }
        others.push((collection, items));
    }
    Some(others)
}
