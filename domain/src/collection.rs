//! The only list of collections.
//!
//! [`COLLECTIONS`] determines the links of an item, the values of `embed`, cache invalidation, and
//! the names in the change log, rules and exports. `docs/adding-a-group.md` explains additions.

#[rustfmt::skip] // A table: one member a line.
mod known_members;

use std::fmt;
use std::sync::LazyLock;

use crate::proposal::{FIELDS, Field};
use crate::{ItemId, Value};

/// The order is that of groups and rules in listings.
pub static COLLECTIONS: &[CollectionSpec] = &[
    CollectionSpec {
        name: "proposedprograms",
        fields: Fields::Open(known_members::PROPOSED_PROGRAMS),
        ..OPEN
    },
    CollectionSpec {
        name: "gadscores",
        fields: Fields::Open(known_members::GAD_SCORES),
        references: &[PROPOSAL],
        indexed: &[indexed("evaluator_id", 3), indexed("proposal_id", 5)],
        counted: &[whole("rating")],
        ..OPEN
    },
    CollectionSpec { name: "statuses", fields: Fields::Open(known_members::STATUSES), ..OPEN },
    CollectionSpec {
        name: "files",
        fields: Fields::Open(known_members::FILES),
        references: &[PROPOSAL],
        indexed: &[indexed("proposal_id", 5)],
        counted: &[whole("document_type")],
        holds_content: true,
        ..OPEN
    },
    CollectionSpec {
        name: "lib",
        fields: Fields::Open(known_members::LIBRARY),
        parent: Some(Parent { collection: "proposals", rel: "proposal" }),
        counted: &[whole("expense_class")],
        holds_content: true,
        ..OPEN
    },
    CollectionSpec {
        name: "proposals",
        fields: Fields::Typed(FIELDS),
        can_continue: true,
        references: &[Reference { member: "program_id", to: "proposedprograms", rel: "program" }],
        indexed: &[
            indexed("program_id", 1),
            indexed("research_type", 2),
            indexed("researcher_id", 3),
            indexed("start_date", 4),
        ],
        counted: &[whole("proposal_type"), whole("research_type"), YEAR_OF_START],
        ..OPEN
    },
    CollectionSpec {
        name: "cashprogram",
        fields: Fields::Open(known_members::CASH_PROGRAM),
        can_continue: true,
        references: &[PROPOSAL],
        indexed: &[indexed("proposal_id", 5)],
        counted: &[whole("year")],
        summed: Some(AMOUNTS_BY_MONTH),
        ..OPEN
    },
    CollectionSpec {
        name: "status",
        fields: Fields::Open(known_members::STATUS),
        about: Some(Reference { member: "subject", to: "proposals", rel: "subject" }),
        indexed: &[indexed("subject", 5)],
        ..OPEN
    },
];

const OPEN: CollectionSpec = CollectionSpec {
    name: "",
    fields: Fields::Open(&[]),
    parent: None,
    can_continue: false,
    references: &[],
    about: None,
    indexed: &[],
    counted: &[],
    summed: None,
    holds_content: false,
};

const PROPOSAL: Reference = Reference { member: "proposal_id", to: "proposals", rel: "proposal" };

const YEAR_OF_START: CountedMember = CountedMember { name: "start_date", characters: Some(4) };

const AMOUNTS_BY_MONTH: SummedMembers = SummedMembers {
    name: "amounts",
    year: "year",
    months: [
        "jan_amount",
        "feb_amount",
        "mar_amount",
        "apr_amount",
        "may_amount",
        "jun_amount",
        "jul_amount",
        "aug_amount",
        "sep_amount",
        "oct_amount",
        "nov_amount",
        "dec_amount",
    ],
};

const fn indexed(name: &'static str, key: usize) -> IndexedMember {
    IndexedMember { name, key }
}

const fn whole(name: &'static str) -> CountedMember {
    CountedMember { name, characters: None }
}

#[derive(Debug)]
pub struct CollectionSpec {
    /// The name in the store, rules, exports and the change feed.
    pub name: &'static str,
    pub fields: Fields,
    /// The collection whose items own these items. A deletion cascades to them.
    pub parent: Option<Parent>,
    /// True if a new item can continue an old one.
    pub can_continue: bool,
    pub references: &'static [Reference],
    /// A member that may hold the identifier of an item of another collection. There is no link.
    pub about: Option<Reference>,
    /// The members with an index for lookups in the store.
    pub indexed: &'static [IndexedMember],
    /// The members for counts by value.
    pub counted: &'static [CountedMember],
    /// The members whose amounts the store sums.
    pub summed: Option<SummedMembers>,
    /// True if an item can have content.
    pub holds_content: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedMember {
    pub name: &'static str,
    /// The number of its column in the store, from 1: collections that share a column share its index.
    pub key: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedMember {
    pub name: &'static str,
    /// The length of the counted prefix in characters; `None` for the whole value.
    pub characters: Option<usize>,
}

/// Members with monthly amounts of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummedMembers {
    /// The name of the sums among the counts by value. Must not be a member's name.
    pub name: &'static str,
    pub year: &'static str,
    /// From January.
    pub months: [&'static str; 12],
}

#[derive(Clone, Copy, Debug)]
pub enum Fields {
    Typed(&'static [Field]),
    /// Any members; these are usual.
    Open(&'static [KnownMember]),
}

#[derive(Clone, Copy, Debug)]
pub struct KnownMember {
    pub name: &'static str,
    /// The name for people.
    pub label: &'static str,
    pub description: &'static str,
    /// A realistic value, as JSON, with the documented type.
    pub example: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Parent {
    pub collection: &'static str,
    /// The link relation from an item to its parent.
    pub rel: &'static str,
}

/// A member that may hold the identifier of an item of another collection. The two are linked while
/// that item exists.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub member: &'static str,
    pub to: &'static str,
    /// The link relation.
    pub rel: &'static str,
}

/// A collection of the store. Groups of the interface show collections; the two libraries show the
/// same one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Collection(usize);

impl Collection {
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..COLLECTIONS.len()).map(Self)
    }

    pub fn names() -> Vec<&'static str> {
        Self::all().map(Self::name).collect()
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|collection| collection.name() == name)
    }

    /// The collection of a constant name. Panics for an unknown one.
    pub const fn known(name: &str) -> Self {
        let mut index = 0;
        while index < COLLECTIONS.len() {
            if is_equal(COLLECTIONS[index].name.as_bytes(), name.as_bytes()) {
                return Self(index);
            }
            index += 1;
        }
        panic!("there is no such collection")
    }

    pub const fn spec(self) -> &'static CollectionSpec {
        &COLLECTIONS[self.0]
    }

    pub const fn index(self) -> usize {
        self.0
    }

    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    pub const fn is_open(self) -> bool {
        matches!(self.spec().fields, Fields::Open(_))
    }

    /// Returns name and example of each defined or usual member.
    pub fn known_members(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (fields, members) = match self.spec().fields {
            Fields::Typed(fields) => (fields, &[][..]),
            Fields::Open(members) => (&[][..], members),
        };
        let members = members.iter().map(|member| (member.name, member.example));
        fields.iter().map(|field| (field.name, field.example)).chain(members)
    }

    pub fn parent(self) -> Option<Self> {
        self.spec().parent.map(|parent| Self::known(parent.collection))
    }

    pub fn children(self) -> impl Iterator<Item = Self> {
        Self::all().filter(move |child| child.parent() == Some(self))
    }

    pub fn referrers(self) -> impl Iterator<Item = Self> {
        Self::all().filter(move |other| other.referenced().any(|to| to == self))
    }

    /// Returns the collections whose items belong to an item of this one, and those whose items name
    /// it, with that member.
    pub fn dependents(self) -> impl Iterator<Item = (Self, Option<&'static str>)> {
        let names = move |other: Self| {
            let spec = other.spec();
            let mut references = spec.references.iter().chain(&spec.about);
            let own = references.find(|reference| reference.to == self.name())?;
            Some((other, Some(own.member)))
        };
        let children = self.children().map(|child| (child, None));
        children.chain(Self::all().filter_map(names))
    }

    /// Returns the referenced collections in the order of the references.
    pub fn referenced(self) -> impl Iterator<Item = Self> {
        self.spec().references.iter().map(|reference| Self::known(reference.to))
    }

    /// Returns the identifiers in an item's members, in the order of the references. The items need
    /// not exist.
    pub fn references_in(self, members: &str) -> Vec<Option<ItemId>> {
        let members = Value::from_encoded(members);
        let id = |name| ItemId::parse(&members.member(name)?.as_string()?);
        self.spec().references.iter().map(|reference| id(reference.member)).collect()
    }

    /// Returns the relations to other items, in display order.
    pub fn relations(self) -> impl Iterator<Item = Relation> {
        static RELATIONS: LazyLock<Vec<Vec<Relation>>> = LazyLock::new(|| {
            Collection::all().map(|collection| collection.make_relations().collect()).collect()
        });
        RELATIONS[self.0].iter().copied()
    }

    fn make_relations(self) -> impl Iterator<Item = Relation> {
        let children = self.children().map(|child| Relation {
            name: child.name(),
            to: child,
            kind: RelationKind::Children,
        });
        let references =
            self.spec().references.iter().enumerate().map(|(index, reference)| Relation {
                name: reference.rel,
                to: Self::known(reference.to),
                kind: RelationKind::Reference(index),
            });
        let parent = self.spec().parent.map(|parent| Relation {
            name: parent.rel,
            to: Self::known(parent.collection),
            kind: RelationKind::Parent,
        });
        children.chain(references).chain(parent)
    }
}

/// Comparison of strings is not const yet.
const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    match (one, other) {
        ([], []) => true,
        ([first, one @ ..], [second, other @ ..]) => *first == *second && is_equal(one, other),
        _ => false,
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A relation to items of the same or another collection. It can be linked and embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relation {
    /// The link relation, the value of `embed`, and the member of `_embedded`.
    pub name: &'static str,
    pub to: Collection,
    pub kind: RelationKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelationKind {
    Children,
    Parent,
    /// The item that the reference of this index names.
    Reference(usize),
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{COLLECTIONS, Collection, Fields};

    #[test]
    fn names_are_unique_and_relations_lead_to_collections() {
        let names: HashSet<_> = COLLECTIONS.iter().map(|spec| spec.name).collect();
        assert_eq!(names.len(), COLLECTIONS.len());
        for collection in Collection::all() {
            let relations: Vec<_> = collection.relations().collect();
            let names: HashSet<_> = relations.iter().map(|relation| relation.name).collect();
            assert_eq!(names.len(), relations.len(), "{collection:?}");
            assert_eq!(Collection::named(collection.name()), Some(collection));
            assert_eq!(Collection::all().nth(collection.index()), Some(collection));
        }
    }

    #[test]
    fn references_and_indexed_members_are_members() {
        for spec in COLLECTIONS {
            let known = |name: &str| match spec.fields {
                Fields::Typed(fields) => fields.iter().any(|field| field.name == name),
                Fields::Open(members) => members.iter().any(|member| member.name == name),
            };
            let references = spec.references.iter().chain(&spec.about).map(|it| it.member);
            for name in references.chain(spec.indexed.iter().map(|indexed| indexed.name)) {
                assert!(known(name), "{} has no member {name}", spec.name);
            }
        }
    }
}
