//! Values of items that a condition names.

use domain::predicate::{ItemState, Operand, Subject};

use super::super::LookupBy;
use super::super::term::{Macro, Term, Variable};
use super::super::value::Val;
use super::{Bound, Outcomes, Translated, Translation};

pub(super) struct Located {
    /// The item of a lookup; `None` is the judged item, or the element of a loop.
    pub of: Option<Chosen>,
    pub operand: Operand,
}

/// Items of a lookup that a filter keeps: all, or the newest.
pub(super) struct Chosen {
    pub lookup: usize,
    pub filter: Outcomes,
    pub is_latest: bool,
}

impl<'a> Translation<'a> {
    pub(super) fn place(&mut self, term: &'a Term) -> Translated<Located> {
        if let Term::Variable(Variable::Parent, _) = term
            && !self.is_in_element()
        {
            return Ok(Located { of: None, operand: Operand::current(Subject::Parent) });
        }
        match selected(term) {
            Some((of, name)) => self.member(term, of, name),
            None => self.refuse(term),
        }
    }

    pub(super) fn member(
        &mut self,
        whole: &'a Term,
        of: &'a Term,
        name: &'a str,
    ) -> Translated<Located> {
        let (mut root, mut path) = (of, vec![name]);
        while let Some((of, name)) = selected(root) {
            root = of;
            path.push(name);
        }
        path.reverse();
        let is_inside = self.is_in_element();
        let (mut of, mut state, mut has_meta) = (None, ItemState::Present, false);
        match root {
            Term::Variable(Variable::After, _) if !is_inside => {}
            Term::Variable(Variable::Before, _) if !is_inside => state = ItemState::Old,
            Term::Variable(Variable::Meta, _) if !is_inside => {
                path.insert(0, "meta");
                has_meta = true;
            }
            Term::Local(local) if self.is_element(local) => has_meta = true,
            root => match self.item(root)? {
                Some(item) => (of, has_meta) = (Some(item), true),
                None => return self.refuse(whole),
            },
        }
        let subject = match path[..] {
            ["id"] => Subject::Id,
            ["parent"] if has_meta => Subject::Parent,
            ["meta", "created_by"] if has_meta => Subject::CreatedBy,
            ["meta", "created_at"] if has_meta => Subject::CreatedAt,
            ["id", ..] => return self.refuse(whole),
            ["parent" | "meta", ..] if has_meta => return self.refuse(whole),
            _ => Subject::Member(path.into_iter().map(Into::into).collect()),
        };
        Ok(Located { of, operand: Operand { state, subject } })
    }

    pub(super) fn place_of_key(&mut self, term: &'a Term) -> Translated<Located> {
        let place = self.place(term)?;
        match &place.of {
            Some(of) if of.is_latest => self.refuse(term),
            _ if place.operand.subject == Subject::CreatedAt => self.refuse(term),
            _ => Ok(place),
        }
    }

    /// Returns the item of a lookup by id, or of `latest()`; `None` for other terms.
    pub(super) fn item(&mut self, term: &'a Term) -> Translated<Option<Chosen>> {
        match term {
            Term::Variable(Variable::Lookup(lookup), _) if self.is_by_id(*lookup) => {
                self.lookup(term, *lookup)
            }
            Term::Call(call) if call.is_latest() => {
                let items = call.arguments.first().map(|items| self.items(items)).transpose()?;
                match items.flatten() {
                    Some(items) => Ok(Some(Chosen { is_latest: true, ..items })),
                    None => self.refuse(term),
                }
            }
            _ => Ok(None),
        }
    }

    /// Returns the items of a lookup, perhaps with filters; `None` for other terms.
    pub(super) fn items(&mut self, term: &'a Term) -> Translated<Option<Chosen>> {
        match term {
            Term::Variable(Variable::Lookup(lookup), _) if !self.is_by_id(*lookup) => {
                self.lookup(term, *lookup)
            }
            Term::Loop(of) if of.macro_ == Macro::Filter => {
                let Some(items) = self.items(&of.range)? else { return Ok(None) };
                let kept = self.within(Bound::Element, &of.body)?;
                Ok(Some(Chosen { filter: items.filter.then(kept), ..items }))
            }
            _ => Ok(None),
        }
    }

    fn lookup(&self, term: &Term, lookup: usize) -> Translated<Option<Chosen>> {
        if self.is_in_element() {
            return self.refuse(term);
        }
        Ok(Some(Chosen { lookup, filter: Outcomes::of(true), is_latest: false }))
    }

    fn is_by_id(&self, lookup: usize) -> bool {
        self.lookups.get(lookup).is_some_and(|(_, target)| matches!(target.by, LookupBy::Id))
    }
}

fn selected(term: &Term) -> Option<(&Term, &str)> {
    match term {
        Term::Member(member) => Some((&member.of, &member.name)),
        Term::Index(parts) => match &**parts {
            [of, Term::Constant(Val::String(name))] => Some((of, name.as_str())),
            _ => None,
        },
        _ => None,
    }
}
