//! The groups of the interface, as data: [`table::GROUPS`] has a row for each.
//!
//! A group shows a collection, or the part of one that belongs to an item of another. What differs
//! between groups is in its row and in that of the collection (`COLLECTIONS`); the
//! operations have one implementation. `docs/adding-a-group.md` adds one.

mod operation;
mod table;

use std::borrow::Cow;

use domain::{Collection, Fields, ItemId};
pub use operation::{GroupOperation, PathForm, VERSION_PARAMETER};
pub use table::GROUPS;

use crate::headers::media_type::MediaType;

/// A row of [`GROUPS`].
#[derive(Debug)]
pub struct GroupSpec {
    /// The name in the documentation: the tag of its operations.
    pub name: &'static str,
    /// One item in the middle of a sentence, with its article.
    pub item_name: &'static str,
    /// Several items.
    pub items_name: &'static str,
    /// The stem of its operation ids and schema names, in `UpperCamelCase`.
    pub stem: &'static str,
    /// A description for people.
    pub description: &'static str,
    /// The collection it shows.
    pub collection: Collection,
    /// The members that tables for people show, first the one that names an item.
    pub columns: &'static [&'static str],
    /// The collection's path. A group nested in another has the parent's item path in front of its
    /// own, with the identifier written `:name`.
    pub path: &'static str,
    /// The name of the path parameter that names an item.
    pub item_parameter: &'static str,
    /// Its own media types, the usual one first.
    pub vendor_types: &'static [MediaType],
    /// True if PUT replaces the whole collection.
    pub replaces_all: bool,
    /// The identifier of the item in the examples and in the demonstration set.
    pub example_id: &'static str,
}

/// A group.
pub type Group = &'static GroupSpec;

impl GroupSpec {
    /// The group that shows the whole of a collection.
    pub fn of(collection: Collection) -> Group {
        let shows = |group: &Group| group.collection == collection && !group.is_nested();
        GROUPS.iter().find(shows).unwrap_or(&GROUPS[0])
    }

    /// Its position in [`GROUPS`].
    pub fn index(&self) -> usize {
        GROUPS.iter().position(|group| std::ptr::eq(group, self)).unwrap_or_default()
    }

    /// Tells whether it shows the items that belong to one item of another group.
    pub fn is_nested(&self) -> bool {
        self.path.contains(':')
    }

    /// Tells whether its items have certain members and no others.
    pub fn is_typed(&self) -> bool {
        matches!(self.collection.spec().fields, Fields::Typed(_))
    }

    /// The group it is nested in.
    pub fn parent(&self) -> Option<Group> {
        if self.is_nested() { self.collection.parent().map(Self::of) } else { None }
    }

    /// One item without its article.
    pub fn noun(&self) -> &'static str {
        self.item_name.split_once(' ').map_or(self.item_name, |(_, noun)| noun)
    }

    /// Every operation it serves. An item of a nested group continues none: nobody would see of
    /// which parent the new item is.
    pub fn operations(&self) -> impl Iterator<Item = GroupOperation> + use<> {
        let continues = self.collection.spec().can_continue && !self.is_nested();
        GroupOperation::STANDARD
            .into_iter()
            .chain(self.replaces_all.then_some(GroupOperation::ReplaceAll))
            .chain(continues.then_some(GroupOperation::Continue))
            .chain(GroupOperation::HISTORY)
    }

    /// The media types of its responses, the preferred one first.
    pub fn response_types(&self) -> Vec<MediaType> {
        [&[MediaType::HAL], self.vendor_types, &[MediaType::JSON]].concat()
    }

    /// The media types of its request bodies, the group's own first.
    pub fn request_types(&self) -> Vec<MediaType> {
        [self.vendor_types, &[MediaType::JSON]].concat()
    }

    /// The path of a form, its identifiers written `:name`.
    pub fn path_of(&self, form: PathForm) -> String {
        let item = format!("{}/:{}", self.path, self.item_parameter);
        match form {
            PathForm::Collection => self.path.to_owned(),
            PathForm::Item => item,
            PathForm::Versions => format!("{item}/versions"),
            PathForm::Version => format!("{item}/versions/:{VERSION_PARAMETER}"),
            PathForm::Difference => format!("{item}/versions/:{VERSION_PARAMETER}/diff"),
        }
    }

    /// The path of a nested group, before and after the identifier of the parent.
    pub fn around_parent(&self) -> Option<(&'static str, &'static str)> {
        let (before, after) = self.path.split_once(':')?;
        Some((before, after.find('/').map_or("", |place| &after[place..])))
    }

    /// The collection's path with the parent's identifier filled in.
    pub fn collection_path(&self, parent: Option<ItemId>) -> Cow<'static, str> {
        match (self.around_parent(), parent) {
            (Some((before, after)), Some(id)) => format!("{before}{id}{after}").into(),
            _ => self.path.into(),
        }
    }

    /// The members of the example item, as JSON. The demonstration set is made of them.
    pub fn example(&self) -> String {
        let members: Vec<_> = self
            .members_by_name()
            .map(|(name, _, example)| format!("\"{name}\":{example}"))
            .collect();
        format!("{{{}}}", members.join(","))
    }

    /// The known members: name, description, and a realistic value as JSON.
    pub fn members_by_name(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> + use<> {
        let (typed, open) = match self.collection.spec().fields {
            Fields::Typed(fields) => (fields, &[][..]),
            Fields::Open(known) => (&[][..], known),
        };
        let typed = typed.iter().map(|field| (field.name, field.description, field.example));
        typed.chain(open.iter().map(|known| (known.name, known.description, known.example)))
    }
}

#[cfg(test)]
pub(crate) fn named(name: &str) -> Group {
    GROUPS.iter().find(|group| group.name == name).expect("a group of this name")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use domain::{Collection, ItemId};

    use super::{GROUPS, GroupOperation, GroupSpec, named};

    #[test]
    fn every_collection_has_a_group_and_every_path_is_its_own() {
        for collection in Collection::all() {
            assert_eq!(GroupSpec::of(collection).collection, collection);
        }
        let paths: HashSet<_> = GROUPS.iter().map(|group| group.path).collect();
        let stems: HashSet<_> = GROUPS.iter().map(|group| group.stem).collect();
        assert_eq!((paths.len(), stems.len()), (GROUPS.len(), GROUPS.len()));
        for group in GROUPS {
            assert!(ItemId::parse(group.example_id).is_some(), "{}", group.name);
            let Some(parent) = group.parent() else { continue };
            assert!(group.path.starts_with(&format!("{}/:{}", parent.path, parent.item_parameter)));
            assert!(!group.replaces_all, "a replacement is of a whole collection");
        }
    }

    #[test]
    fn a_nested_group_has_its_parent_in_its_path() {
        let (nested, id) = (named("proposals lib"), ItemId::parse(GROUPS[0].example_id));
        let path = format!("/v1/proposals/{}/lib", GROUPS[0].example_id);
        assert_eq!(nested.collection_path(id), path);
        assert!(nested.operations().all(|operation| operation != GroupOperation::Continue));
        assert!(
            named("proposals").operations().any(|operation| operation == GroupOperation::Continue)
        );
    }
}
