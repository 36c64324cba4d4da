//! Writes by a caller who may not see or change every member.

use std::collections::HashMap;

use super::{Mask, Node, VisibleMembers};
use crate::json::{Kind, Value, decode, push_member};
use crate::{Item, Members, Pointer};

type Named<'a> = Vec<(&'a str, Value<'a>)>;

/// The names on the way to a value, from the innermost.
struct At<'a> {
    name: &'a str,
    is_index: bool,
    within: Option<&'a At<'a>>,
}

impl<'a> At<'a> {
    const fn member(name: &'a str, within: Option<&'a At<'a>>) -> Self {
        Self { name, is_index: false, within }
    }

    fn pointer(at: Option<&Self>) -> Pointer {
        let Some(Self { name, within, .. }) = at else { return Pointer::root() };
        Self::pointer(*within).member(&decode(name))
    }

    /// The pointer without the indexes of lists.
    fn pointer_to_members(at: Option<&Self>) -> Pointer {
        match at {
            None => Pointer::root(),
            Some(Self { is_index: true, within, .. }) => Self::pointer_to_members(*within),
            Some(Self { name, within, .. }) => {
                Self::pointer_to_members(*within).member(&decode(name))
            }
        }
    }
}

fn entries(value: Option<Value<'_>>) -> Named<'_> {
    value.and_then(Value::entries).into_iter().flatten().collect()
}

fn is_object(value: Option<Value<'_>>) -> bool {
    value.is_none_or(|value| value.kind() == Kind::Object)
}

/// A member as policies name it.
fn named(place: &Pointer) -> String {
    let names: Vec<_> = place.names().collect();
    match &names[..] {
        [name] if !name.starts_with('/') && name != Mask::CALLERS => name.clone(),
        _ => place.to_string(),
    }
}

impl VisibleMembers {
    /// Adds the members that are not visible to the `new` visible ones of a stored item, at their
    /// places. Returns the members that the caller may not name or change instead. A list with
    /// parts that are not visible cannot change, because its elements have no names.
    pub fn keep(&self, stored: &Members, new: Members) -> Result<Members, Vec<Pointer>> {
        if self.is_all_visible(&self.mask.root) {
            return Ok(new);
        }
        let mut refused = Vec::new();
        let [before, after] = [stored, &new].map(|it| Value::from_encoded(it.encoded()));
        let kept = self.kept(Some(before), Some(after), (&self.mask.root, None), &mut refused);
        if !refused.is_empty() {
            return Err(refused);
        }
        let kept = kept.unwrap_or_else(|| "{}".to_owned());
        Ok(Members::read(kept.as_bytes()).ok().flatten().unwrap_or(new))
    }

    fn kept(
        &self,
        stored: Option<Value<'_>>,
        new: Option<Value<'_>>,
        (node, at): (&Node, Option<&At<'_>>),
        refused: &mut Vec<Pointer>,
    ) -> Option<String> {
        if self.is_all_visible(node) {
            return new.map(|new| new.encoded().to_owned());
        }
        let mut visible = String::new();
        let is_seen = stored.is_some_and(|stored| self.push(&mut visible, stored, node));
        if new.map(Value::encoded) == is_seen.then_some(visible.as_str()) {
            return stored.map(|stored| stored.encoded().to_owned());
        }
        let is_named = !node.members.is_empty() || at.is_none();
        if !is_named || !is_object(stored) || !is_object(new) {
            refused.push(At::pointer(at));
            return None;
        }
        let (before, after) = (entries(stored), entries(new));
        let stored: HashMap<_, _> = before.iter().copied().collect();
        let named: HashMap<_, _> = after.iter().copied().collect();
        let keep = |name: &str, new: Option<Value<'_>>, refused: &mut Vec<Pointer>| {
            let at = At::member(name, at);
            let stored = stored.get(name).copied();
            self.kept(stored, new, (&node.child(name), Some(&at)), refused)
        };
        // A kept member stays behind the same name as before.
        let (mut following, mut anchor) = (HashMap::<_, Vec<_>>::new(), None);
        for (name, _) in &before {
            if named.contains_key(name) {
                anchor = Some(*name);
            } else if let Some(kept) = keep(name, None, refused) {
                following.entry(anchor).or_default().push((*name, kept));
            }
        }
        let mut out = String::from("{");
        let follow = |out: &mut String, anchor: Option<&str>| {
            for (name, kept) in following.get(&anchor).into_iter().flatten() {
                push_member(out, name, |out| out.push_str(kept));
            }
        };
        follow(&mut out, None);
        for (name, value) in &after {
            if let Some(kept) = keep(name, Some(*value), refused) {
                push_member(&mut out, name, |out| out.push_str(&kept));
            }
            follow(&mut out, Some(name));
        }
        out.push('}');
        (new.is_some() || out.len() > "{}".len()).then_some(out)
    }

    /// Returns the members outside of the mask that differ; before a creation, those that are set.
    pub fn changed(&self, before: Option<&Members>, after: &Members) -> Vec<Pointer> {
        let before = before.map(|before| Value::from_encoded(before.encoded()));
        let after = Value::from_encoded(after.encoded());
        let mut changed = Vec::new();
        let root = (&self.mask.root, None);
        self.differ(before, Some(after), root, &mut |at| changed.push(At::pointer(at)));
        changed
    }

    /// Returns the members of an item that are not visible, sorted, as policies name them.
    pub fn hidden(&self, item: &Item) -> Vec<String> {
        let members = Value::from_encoded(&item.members);
        let mut hidden = Vec::new();
        self.differ(None, Some(members), (&self.mask.root, None), &mut |at| {
            hidden.push(named(&At::pointer_to_members(at)));
        });
        if item.created_by.is_some() && !self.shows_callers() {
            hidden.push(Mask::CALLERS.to_owned());
        }
        hidden.sort();
        hidden.dedup();
        hidden
    }

    fn differ(
        &self,
        before: Option<Value<'_>>,
        after: Option<Value<'_>>,
        (node, at): (&Node, Option<&At<'_>>),
        found: &mut impl FnMut(Option<&At<'_>>),
    ) {
        if before == after || self.is_all_visible(node) {
            return;
        }
        let Some(before) = before else {
            if let Some(after) = after {
                self.set(after, (node, at), found);
            }
            return;
        };
        let before = Some(before);
        let (old, new) = (entries(before), entries(after));
        let is_deeper = (!node.members.is_empty() || at.is_none())
            && is_object(before)
            && is_object(after)
            && !(old.is_empty() && new.is_empty());
        if !is_deeper {
            found(at);
            return;
        }
        let olds: HashMap<_, _> = old.iter().copied().collect();
        let news: HashMap<_, _> = new.iter().copied().collect();
        let removed = old.iter().filter(|(name, _)| !news.contains_key(name));
        for (name, _) in new.iter().chain(removed) {
            let at = At::member(name, at);
            let [before, after] = [&olds, &news].map(|values| values.get(name).copied());
            self.differ(before, after, (&node.child(name), Some(&at)), found);
        }
    }

    fn set(
        &self,
        value: Value<'_>,
        (node, at): (&Node, Option<&At<'_>>),
        found: &mut impl FnMut(Option<&At<'_>>),
    ) {
        let is_named = !node.members.is_empty() || at.is_none();
        match value.kind() {
            _ if self.is_all_visible(node) => {}
            Kind::Object if is_named && value.encoded() != "{}" => {
                for (name, member) in value.entries().into_iter().flatten() {
                    let at = At::member(name, at);
                    self.set(member, (&node.child(name), Some(&at)), found);
                }
            }
            Kind::Array if is_named && value.encoded() != "[]" => {
                for (index, element) in value.elements().into_iter().flatten().enumerate() {
                    let at = At { name: &index.to_string(), is_index: true, within: at };
                    self.set(element, (node, Some(&at)), found);
                }
            }
            _ if is_named && self.is_visible(node) || at.is_none() => {}
            _ => found(at),
        }
    }
}
