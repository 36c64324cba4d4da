//! The groups of the interface, as data: [`table::GROUPS`].
//!
//! A group shows a collection, or the part that belongs to one item. Groups differ only in data;
//! operations have one implementation. See `docs/adding-a-group.md`.

mod operation;
mod table;

use std::borrow::Cow;
use std::collections::BTreeSet;

use domain::{Collection, Fields, ItemId};
pub use operation::{GroupOperation, PathForm, VERSION_PARAMETER};
pub use table::GROUPS;

use crate::headers::media_type::MediaType;

#[derive(Debug)]
pub struct GroupSpec {
    /// Tag in the `OpenAPI` document.
    pub name: &'static str,
    /// Singular with its article, for use within a sentence.
    pub item_name: &'static str,
    pub items_name: &'static str,
    /// The name in the menu.
    pub label: &'static str,
    /// Stem of operation ids and schema names, in `UpperCamelCase`.
    pub stem: &'static str,
    pub description: &'static str,
    pub collection: Collection,
    /// Members shown in tables for people. The first one names an item.
    pub columns: &'static [&'static str],
    /// Nested groups begin with the parent's item path. Identifiers are `:name`.
    pub path: &'static str,
    /// Path parameter of an item.
    pub item_parameter: &'static str,
    /// Own media types, the default first.
    pub vendor_types: &'static [MediaType],
    pub replaces_all: bool,
    /// Id of the item in examples and in the demonstration set.
    pub example_id: &'static str,
}

pub type Group = &'static GroupSpec;

impl GroupSpec {
    pub fn of(collection: Collection) -> Group {
        let shows = |group: &Group| group.collection == collection && !group.is_nested();
        GROUPS.iter().find(shows).unwrap_or(&GROUPS[0])
    }

    pub fn index(&self) -> usize {
        GROUPS.iter().position(|group| std::ptr::eq(group, self)).unwrap_or_default()
    }

    /// True for a group of one parent item's children.
    pub fn is_nested(&self) -> bool {
        self.path.contains(':')
    }

    /// True if unknown members are refused.
    pub fn is_typed(&self) -> bool {
        matches!(self.collection.spec().fields, Fields::Typed(_))
    }

    pub fn parent(&self) -> Option<Group> {
        if self.is_nested() { self.collection.parent().map(Self::of) } else { None }
    }

    pub fn noun(&self) -> &'static str {
        self.item_name.split_once(' ').map_or(self.item_name, |(_, noun)| noun)
    }

    /// Nested groups have no `Continue`: the parent of the new item would be ambiguous.
    pub fn operations(&self) -> impl Iterator<Item = GroupOperation> + use<> {
        let continues = self.collection.spec().can_continue && !self.is_nested();
        let holds_content = self.collection.spec().holds_content;
        GroupOperation::STANDARD
            .into_iter()
            .chain(self.replaces_all.then_some(GroupOperation::ReplaceAll))
            .chain(continues.then_some(GroupOperation::Continue))
            .chain(GroupOperation::HISTORY)
            .chain(GroupOperation::CONTENT.into_iter().filter(move |_| holds_content))
            .chain(self.has_dossier().then_some(GroupOperation::GetDossier))
    }

    /// True if other items belong to its items.
    pub fn has_dossier(&self) -> bool {
        self.collection.children().next().is_some() && !self.is_nested()
    }

    /// The forms of its paths.
    pub fn path_forms(&self) -> BTreeSet<PathForm> {
        self.operations().map(GroupOperation::form).collect()
    }

    pub fn response_types(&self) -> Vec<MediaType> {
        [&[MediaType::HAL], self.vendor_types, &[MediaType::JSON]].concat()
    }

    pub fn request_types(&self) -> Vec<MediaType> {
        [self.vendor_types, &[MediaType::JSON]].concat()
    }

    pub fn path_of(&self, form: PathForm) -> String {
        let item = format!("{}/:{}", self.path, self.item_parameter);
        match form {
            PathForm::Collection => self.path.to_owned(),
            PathForm::Item => item,
            PathForm::Versions => format!("{item}/versions"),
            PathForm::Version => format!("{item}/versions/:{VERSION_PARAMETER}"),
            PathForm::Difference => format!("{item}/versions/:{VERSION_PARAMETER}/diff"),
            PathForm::Content => format!("{item}/content"),
            PathForm::VersionContent => format!("{item}/versions/:{VERSION_PARAMETER}/content"),
            PathForm::Dossier => format!("{item}/dossier.zip"),
        }
    }

    /// The path of a nested group, before and after the parent's id.
    pub fn around_parent(&self) -> Option<(&'static str, &'static str)> {
        let (before, after) = self.path.split_once(':')?;
        Some((before, after.find('/').map_or("", |place| &after[place..])))
    }

    pub fn collection_path(&self, parent: Option<ItemId>) -> Cow<'static, str> {
        match (self.around_parent(), parent) {
            (Some((before, after)), Some(id)) => format!("{before}{id}{after}").into(),
            _ => self.path.into(),
        }
    }

    /// The example item as JSON, also used for the demonstration set.
    pub fn example(&self) -> String {
        let members = self.members_by_name();
        let members = members.map(|(name, _, example)| format!("\"{name}\":{example}"));
        let members: Vec<_> = members.collect();
        format!("{{{}}}", members.join(","))
    }

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

    use super::{GROUPS, GroupSpec};

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
}
