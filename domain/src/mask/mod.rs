//! The members of an item that a caller may see or change, each under a condition on the item.
//!
//! A mask is a tree of names. A name within a list is that of a member of its elements. A value
//! without a name in the mask has the condition of the object that holds it. An object or a list
//! without any visible part is absent.

mod change;
mod cut;

use std::borrow::Cow;
use std::sync::Arc;

use crate::json::{decode, escape_name};
use crate::{Collection, Item, Pointer, Predicate};

/// The names on the way to a member.
pub type MemberPath = Arc<[Box<str>]>;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mask {
    collection: Collection,
    /// Each once.
    conditions: Vec<Predicate>,
    root: Node,
    /// The condition of the names of callers.
    callers: usize,
}

/// Top-level members by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberSet {
    Only(Vec<String>),
    Except(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    condition: usize,
    /// By name in canonical escaping.
    members: Vec<(Box<str>, Self)>,
}

/// A mask for one item, whose conditions are decided.
#[derive(Clone, Debug)]
pub struct VisibleMembers {
    mask: Arc<Mask>,
    /// By condition.
    holds: Vec<bool>,
}

impl Node {
    fn new(condition: usize) -> Self {
        Self { condition, members: Vec::new() }
    }

    /// The node of a member, which without one has the condition of this node.
    fn child(&self, name: &str) -> Cow<'_, Self> {
        self.member(name).map_or_else(|| Cow::Owned(Self::new(self.condition)), Cow::Borrowed)
    }

    fn member(&self, name: &str) -> Option<&Self> {
        self.members.iter().find(|(known, _)| **known == *name).map(|(_, node)| node)
    }

    fn insert(&mut self, path: &[Box<str>], condition: usize) {
        let Some((name, rest)) = path.split_first() else {
            self.condition = condition;
            return;
        };
        let name: Box<str> = escape_name(name).into();
        let at = self.members.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.members.push((name, Self::new(self.condition)));
            self.members.len() - 1
        });
        self.members[at].1.insert(rest, condition);
    }

    fn each_condition(&self, found: &mut impl FnMut(usize)) {
        found(self.condition);
        self.members.iter().for_each(|(_, node)| node.each_condition(found));
    }
}

impl Mask {
    /// The names of callers, as policies name them.
    pub const CALLERS: &str = "meta.created_by";

    /// Returns `None` if every member is always visible. `callers` is the condition of the names of
    /// callers. A shorter path precedes those that it begins.
    pub fn new(
        collection: Collection,
        members: impl IntoIterator<Item = (MemberPath, Predicate)>,
        others: Predicate,
        callers: Predicate,
    ) -> Option<Self> {
        let mut conditions = Vec::new();
        let mut number = |condition: Predicate| {
            conditions.iter().position(|known| *known == condition).unwrap_or_else(|| {
                conditions.push(condition);
                conditions.len() - 1
            })
        };
        let (mut root, callers) = (Node::new(number(others)), number(callers));
        for (path, condition) in members {
            root.insert(&path, number(condition));
        }
        let is_whole = conditions.iter().all(|condition| *condition == Predicate::TRUE);
        (!is_whole).then_some(Self { collection, conditions, root, callers })
    }

    pub fn conditions(&self) -> &[Predicate] {
        &self.conditions
    }

    /// The condition of the names of callers.
    pub fn callers(&self) -> &Predicate {
        &self.conditions[self.callers]
    }

    /// Returns the condition that a top-level member is visible with all of its parts.
    pub fn of_member(&self, name: &str) -> Predicate {
        let mut needed = Vec::new();
        match self.root.member(&escape_name(name)) {
            Some(node) => node.each_condition(&mut |condition| needed.push(condition)),
            None => needed.push(self.root.condition),
        }
        Predicate::all(needed.into_iter().map(|condition| self.conditions[condition].clone()))
    }

    /// Returns the top-level members that may be visible with all of their parts, by the condition
    /// under which they are.
    pub fn whole_members(&self) -> Vec<(Predicate, MemberSet)> {
        let names = self.root.members.iter().map(|(name, _)| decode(name).into_owned());
        let all: Vec<_> = names.collect();
        let mut sets: Vec<(Predicate, MemberSet)> = Vec::new();
        for name in &all {
            let condition = self.of_member(name);
            match sets.iter_mut().find(|(known, _)| *known == condition) {
                Some((_, MemberSet::Only(names))) => names.push(name.clone()),
                _ => sets.push((condition, MemberSet::Only(vec![name.clone()]))),
            }
        }
        sets.push((self.conditions[self.root.condition].clone(), MemberSet::Except(all)));
        sets.retain(|(condition, _)| *condition != Predicate::FALSE);
        sets
    }

    /// Returns the collections of related items that the conditions read.
    pub fn reads(&self) -> Vec<Collection> {
        self.conditions.iter().flat_map(Predicate::reads).collect()
    }
}

impl VisibleMembers {
    /// `holds` has a result for each of the [conditions](Mask::conditions).
    pub const fn new(mask: Arc<Mask>, holds: Vec<bool>) -> Self {
        Self { mask, holds }
    }

    /// Decides every condition.
    pub fn decide<E>(
        mask: &Arc<Mask>,
        decide: impl FnMut(&Predicate) -> Result<bool, E>,
    ) -> Result<Self, E> {
        let holds = mask.conditions.iter().map(decide).collect::<Result<_, _>>()?;
        Ok(Self { mask: Arc::clone(mask), holds })
    }

    /// Returns the members that are visible on some items.
    pub fn at_most(mask: &Arc<Mask>) -> Self {
        let holds = mask.conditions.iter().map(|it| it.constant() != Some(false)).collect();
        Self { mask: Arc::clone(mask), holds }
    }

    /// Returns the members that are visible on every item.
    pub fn at_least(mask: &Arc<Mask>) -> Self {
        let holds = mask.conditions.iter().map(|it| it.constant() == Some(true)).collect();
        Self { mask: Arc::clone(mask), holds }
    }

    pub fn is_whole(&self) -> bool {
        self.holds.iter().all(|holds| *holds)
    }

    pub fn shows_callers(&self) -> bool {
        self.holds[self.mask.callers]
    }

    /// Returns whether the member at a place is visible. An index of a list is no name.
    pub fn shows(&self, place: &Pointer) -> bool {
        let mut node = &self.mask.root;
        for name in place.names() {
            match node.member(&escape_name(&name)) {
                Some(member) => node = member,
                None if name.bytes().all(|byte| byte.is_ascii_digit()) => {}
                None => break,
            }
        }
        self.is_visible(node)
    }

    /// Returns whether the items that an item refers to are visible, in the order of the
    /// collection's references.
    pub fn shows_references(&self) -> impl Iterator<Item = bool> {
        let references = self.mask.collection.spec().references.iter();
        references.map(|reference| self.shows(&Pointer::to_member(reference.member)))
    }

    /// Removes hidden members, and the creator if it is hidden.
    pub fn apply(&self, item: &mut Item) {
        if !self.is_whole() {
            item.members = self.cut(&item.members);
            item.created_by = item.created_by.take().filter(|_| self.shows_callers());
        }
    }

    fn is_visible(&self, node: &Node) -> bool {
        self.holds[node.condition]
    }

    fn is_all_visible(&self, node: &Node) -> bool {
        self.is_visible(node) && node.members.iter().all(|(_, node)| self.is_all_visible(node))
    }
}

#[cfg(test)]
mod tests;
