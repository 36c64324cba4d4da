//! Variables and their members.

use cel::common::ast::{Expr, IdedExpr, SelectExpr};

use super::super::evaluate::described;
use super::super::kinds::{
    ANY, BOOLEAN, JSON, Kinds, LIST, MAP, NULL, STRING, TIMESTAMP, ValueKind,
};
use super::super::term::{Local, MemberAccess, Term, Variable};
use super::super::value::Val;
use super::super::{Meta, Shape, shorten};
use super::{Compiled, Compiler, Typed, constant_of, did_you_mean};

/// Known names in addition to lookups, and the kinds of their values.
#[derive(Clone, Copy, Debug)]
pub struct Variables(&'static [(Variable, Kinds)]);

impl Variables {
    pub const OF_A_WRITE: Self = Self(WRITE);
    pub const OF_A_TOKEN: Self = Self(&[(Variable::Claims, MAP)]);
    /// Of a condition on items.
    pub const OF_AN_ITEM: Self = Self(ITEM);
    /// Of a condition on the replacement of an item.
    pub const OF_A_CHANGE: Self = Self(CHANGE);

    pub(in crate::expression) fn has(self, wanted: Variable) -> bool {
        self.0.iter().any(|(variable, _)| *variable == wanted)
    }

    /// Returns `true` for names of variables and types. A lookup cannot have such a name.
    pub fn are_named(self, name: &str) -> bool {
        self.find(name).is_some() || ValueKind::of_type(name).is_some()
    }

    fn find(self, name: &str) -> Option<(Variable, Kinds)> {
        self.0.iter().find(|(variable, _)| variable.name(&[]) == name).copied()
    }
}

const WRITE: &[(Variable, Kinds)] = &[
    (Variable::After, MAP),
    (Variable::Before, MAP.or(NULL)),
    (Variable::Caller, MAP),
    (Variable::Now, TIMESTAMP),
    (Variable::Today, STRING),
    (Variable::Parent, STRING.or(NULL)),
];

const ITEM: &[(Variable, Kinds)] = &[
    (Variable::After, MAP),
    (Variable::Caller, MAP),
    (Variable::Today, STRING),
    (Variable::Parent, STRING.or(NULL)),
    (Variable::Meta, MAP),
];

const CHANGE: &[(Variable, Kinds)] = &[
    (Variable::After, MAP),
    (Variable::Before, MAP.or(NULL)),
    (Variable::Caller, MAP),
    (Variable::Today, STRING),
    (Variable::Parent, STRING.or(NULL)),
    (Variable::Meta, MAP),
];

/// Returns `true` for variables of every write. A lookup cannot have such a name.
pub fn is_taken(name: &str) -> bool {
    Variables::OF_A_WRITE.are_named(name)
}

impl Compiler<'_> {
    pub(super) fn variable(&mut self, at: &IdedExpr, name: &str) -> Compiled<Typed> {
        if let Some(place) = self.locals.iter().rposition(|(local, _)| local == name) {
            let local = Local { place, name: name.into(), offset: self.offset(at) };
            return Ok(Typed::new(Term::Local(local), self.locals[place].1));
        }
        if let Some(place) = self.lookups.iter().position(|(lookup, _)| lookup == name) {
            self.uses_lookups = true;
            let (kinds, elements) = match self.lookups[place].1 {
                Shape::One => (MAP.or(NULL), STRING),
                Shape::Many => (LIST, MAP),
            };
            let node = Term::Variable(Variable::Lookup(place), self.offset(at));
            return Ok(Typed { node, kinds, elements });
        }
        if let Some((variable, kinds)) = self.variables.find(name) {
            let node = Term::Variable(variable, self.offset(at));
            return Ok(Typed { node, kinds, elements: STRING });
        }
        if let Some(kind) = ValueKind::of_type(name) {
            return Ok(constant_of(Val::Type(kind)));
        }
        if name == "now" && self.variables.has(Variable::Meta) {
            let reason = "a policy cannot depend on the moment, because its decisions are kept for the day; use `today`";
            return self.refuse(at, reason);
        }
        let lookups = self.lookups.iter().map(|(name, _)| name.as_str());
        let locals = self.locals.iter().map(|(name, _)| name.as_str());
        let known = self.variables.0.iter().map(|(variable, _)| variable.name(&[]));
        let known = known.chain(lookups).chain(locals);
        let hint = did_you_mean(name, &known.collect::<Vec<_>>());
        self.refuse(at, format!("there is no variable `{}`; {hint}", shorten(name)))
    }

    pub(super) fn selected(&mut self, select: &SelectExpr) -> Compiled<Typed> {
        let kind = if let Expr::Select(middle) = &select.operand.expr
            && let Expr::Ident(first) = &middle.operand.expr
        {
            ValueKind::of_type(&[first, &middle.field, &select.field].map(String::as_str).join("."))
        } else {
            None
        };
        match kind {
            Some(kind) => Ok(constant_of(Val::Type(kind))),
            None => self.select(select).map(Self::member),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Compiled<MemberAccess> {
        let of = self.demanded(&select.operand, MAP, "a value with members")?;
        self.member_of(of.node, &select.field, &select.operand)
    }

    pub(super) fn member_of(&self, of: Term, name: &str, at: &IdedExpr) -> Compiled<MemberAccess> {
        if let Term::Variable(Variable::Meta, _) = of
            && !Meta::MEMBERS.contains(&name)
        {
            let hint = did_you_mean(name, &Meta::MEMBERS);
            return self.refuse(at, format!("`meta` has no member `{}`; {hint}", shorten(name)));
        }
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let root = match &of {
            Term::Variable(lookup @ Variable::Lookup(_), _) => Some(lookup.name(self.lookups)),
            Term::Local(local) => Some(&*local.name),
            of => described(of),
        };
        let path = root.filter(|_| is_word).map(|root| shorten(&format!("{root}.{name}")).into());
        Ok(MemberAccess {
            of,
            name: name.into(),
            encoded: domain::json::escape_name(name).into(),
            path,
            offset: self.offset(at),
        })
    }

    pub(super) fn member(member: MemberAccess) -> Typed {
        let is_id = &*member.name == "id";
        let kinds = match member.of {
            Term::Variable(Variable::After | Variable::Before, _) if is_id => STRING,
            Term::Variable(Variable::Caller, _) if is_id => STRING.or(NULL),
            Term::Variable(Variable::Meta, _) if &*member.name == "created_by" => STRING.or(NULL),
            Term::Variable(Variable::Meta, _) => TIMESTAMP,
            Term::Variable(..) => JSON,
            _ => ANY,
        };
        Typed::new(Term::Member(Box::new(member)), kinds)
    }

    pub(super) fn has(&mut self, of: &IdedExpr) -> Compiled<Typed> {
        let Expr::Select(select) = &of.expr else {
            return self.refuse(of, "has() takes a member by its name, such as has(self.title)");
        };
        let member = self.select(select)?;
        Ok(Typed::new(Term::Has(Box::new(member)), BOOLEAN))
    }
}
