//! The collections of the store: the only list of them.
//!
//! From [`COLLECTIONS`] follow the links of an item, the values of `embed`, the writes that make a
//! cached item stale, and the names in the change log, rules and exports. `docs/adding-a-group.md`
//! adds one.

#[rustfmt::skip] // A table: one member a line.
mod known_members;

use std::fmt;
use std::sync::LazyLock;

use crate::proposal::{FIELDS, Field};
use crate::{ItemId, Value};

/// All collections, in the order in which groups and rules are listed.
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
        indexed: &["proposal_id"],
        counted: &[whole("rating")],
        ..OPEN
    },
    CollectionSpec { name: "statuses", fields: Fields::Open(known_members::STATUSES), ..OPEN },
    CollectionSpec {
        name: "files",
        fields: Fields::Open(known_members::FILES),
        references: &[PROPOSAL],
        indexed: &["proposal_id"],
        counted: &[whole("document_type")],
        ..OPEN
    },
    CollectionSpec {
        name: "lib",
        fields: Fields::Open(known_members::LIBRARY),
        parent: Some(Parent { collection: "proposals", rel: "proposal" }),
        counted: &[whole("expense_class")],
        ..OPEN
    },
    CollectionSpec {
        name: "proposals",
        fields: Fields::Typed(FIELDS),
        can_continue: true,
        references: &[Reference { member: "program_id", to: "proposedprograms", rel: "program" }],
        indexed: &["program_id", "research_type", "researcher_id", "start_date"],
        counted: &[whole("proposal_type"), whole("research_type"), YEAR_OF_START],
        ..OPEN
    },
    CollectionSpec {
        name: "cashprogram",
        fields: Fields::Open(known_members::CASH_PROGRAM),
        can_continue: true,
        references: &[PROPOSAL],
        indexed: &["proposal_id"],
        counted: &[whole("year")],
        summed: Some(AMOUNTS_BY_MONTH),
        ..OPEN
    },
    CollectionSpec {
        name: "status",
        fields: Fields::Open(known_members::STATUS),
        indexed: &["subject"],
        ..OPEN
    },
];

/// A collection of items with any members, related to no other.
const OPEN: CollectionSpec = CollectionSpec {
    name: "",
    fields: Fields::Open(&[]),
    parent: None,
    can_continue: false,
    references: &[],
    indexed: &[],
    counted: &[],
    summed: None,
};

/// The proposal that a score sheet, a file or a cash programme is about.
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

const fn whole(name: &'static str) -> CountedMember {
    CountedMember { name, characters: None }
}

/// A row of [`COLLECTIONS`].
#[derive(Debug)]
pub struct CollectionSpec {
    /// The name under which the store keeps it; rules, exports and the change feed use it too.
    pub name: &'static str,
    /// The members of its items.
    pub fields: Fields,
    /// The collection whose items own the items of this one, which are deleted with them.
    pub parent: Option<Parent>,
    /// True when a new item can continue an old one.
    pub can_continue: bool,
    /// The members that hold the identifier of an item of another collection.
    pub references: &'static [Reference],
    /// The members that the store finds items by without reading the whole collection.
    pub indexed: &'static [&'static str],
    /// The members by whose values the store counts the items.
    pub counted: &'static [CountedMember],
    /// The members whose amounts the store adds up.
    pub summed: Option<SummedMembers>,
}

/// A member by whose values items are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedMember {
    /// The member's name.
    pub name: &'static str,
    /// How many characters of a value count, from the first; all where it is `None`.
    pub characters: Option<usize>,
}

/// Members with an amount of money for each month of a year, which are added up by month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummedMembers {
    /// The name of the sums, which are among the counts by value; no member has it.
    pub name: &'static str,
    /// The member with the year.
    pub year: &'static str,
    /// The members with the amounts, from January.
    pub months: [&'static str; 12],
}

/// The members of a collection's items.
#[derive(Clone, Copy, Debug)]
pub enum Fields {
    /// These and no others.
    Typed(&'static [Field]),
    /// Any; these are usual.
    Open(&'static [KnownMember]),
}

/// A member that items of an open collection usually have.
#[derive(Clone, Copy, Debug)]
pub struct KnownMember {
    /// The name.
    pub name: &'static str,
    /// A description for people.
    pub description: &'static str,
    /// A realistic value, as JSON; its type documents the member's.
    pub example: &'static str,
}

/// The collection that owns another one's items.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    /// Its name.
    pub collection: &'static str,
    /// The relation of the link from an item to its parent.
    pub rel: &'static str,
}

/// A member that may hold the identifier of an item of another collection. While that item exists,
/// the two are linked.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// The member's name.
    pub member: &'static str,
    /// The name of the other collection.
    pub to: &'static str,
    /// The relation of the link.
    pub rel: &'static str,
}

/// A collection of the store: a row of [`COLLECTIONS`]. Groups of the interface show collections; the
/// two libraries show the same one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collection(usize);

impl Collection {
    /// All of them, in the order of [`COLLECTIONS`].
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        (0..COLLECTIONS.len()).map(Self)
    }

    /// Their names, for messages.
    pub fn names() -> Vec<&'static str> {
        Self::all().map(Self::name).collect()
    }

    /// The collection of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|collection| collection.name() == name)
    }

    /// The collection of a name that is a constant of the program.
    ///
    /// # Panics
    /// When the table has no such row.
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

    /// Its row of the table.
    pub const fn spec(self) -> &'static CollectionSpec {
        &COLLECTIONS[self.0]
    }

    /// Its position in [`COLLECTIONS`].
    pub const fn index(self) -> usize {
        self.0
    }

    /// The name under which the store keeps it.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// Returns whether its items may have any members.
    pub const fn is_open(self) -> bool {
        matches!(self.spec().fields, Fields::Open(_))
    }

    /// The members that its items have or usually have: the name of each, and a realistic value as
    /// JSON.
    pub fn known_members(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let (fields, members) = match self.spec().fields {
            Fields::Typed(fields) => (fields, &[][..]),
            Fields::Open(members) => (&[][..], members),
        };
        let members = members.iter().map(|member| (member.name, member.example));
        fields.iter().map(|field| (field.name, field.example)).chain(members)
    }

    /// The collection whose items own the items of this one.
    pub fn parent(self) -> Option<Self> {
        self.spec().parent.map(|parent| Self::known(parent.collection))
    }

    /// The collections whose items belong to the items of this one.
    pub fn children(self) -> impl Iterator<Item = Self> {
        Self::all().filter(move |child| child.parent() == Some(self))
    }

    /// The collections that have a reference to this one.
    pub fn referrers(self) -> impl Iterator<Item = Self> {
        Self::all().filter(move |other| other.referenced().any(|to| to == self))
    }

    /// The collections that its items refer to, in the order of its references. Its items show links
    /// to their items while those exist.
    pub fn referenced(self) -> impl Iterator<Item = Self> {
        self.spec().references.iter().map(|reference| Self::known(reference.to))
    }

    /// The identifiers that an item's encoded members hold, in the order of the collection's
    /// references, whether or not there are such items.
    pub fn references_in(self, members: &str) -> Vec<Option<ItemId>> {
        let members = Value::from_encoded(members);
        let id = |name| ItemId::parse(&members.member(name)?.as_string()?);
        self.spec().references.iter().map(|reference| id(reference.member)).collect()
    }

    /// The relations of its items to others, in the order in which they are shown.
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

/// A relation of a collection's items to items of the same or another collection: a link of each
/// item, and something that can be embedded in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relation {
    /// The link's relation type, the value that `embed` takes, and the member of `_embedded`.
    pub name: &'static str,
    /// The collection of the related items.
    pub to: Collection,
    /// How items are related.
    pub kind: RelationKind,
}

/// How an item is related to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelationKind {
    /// The items whose parent it is.
    Children,
    /// The item it belongs to.
    Parent,
    /// The item that its reference of this index names.
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
            let references = spec.references.iter().map(|reference| reference.member);
            for name in references.chain(spec.indexed.iter().copied()) {
                assert!(known(name), "{} has no member {name}", spec.name);
            }
        }
    }
}
