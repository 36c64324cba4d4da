//! Variables, and the members of what they stand for.

use cel::common::ast::{Expr, IdedExpr, SelectExpr};
use domain::nearest;

use super::super::evaluate::described;
use super::super::kinds::{Kind, Kinds};
use super::super::node::{Constant, Member, Node, Variable};
use super::super::{Shape, shorten};
use super::{Compiler, Outcome, Typed, constant_of, did_you_mean};

/// The variables of every expression, and the kinds of their values.
const VARIABLES: &[(&str, Variable, Kinds)] = &[
    ("self", Variable::After, Kinds::MAP),
    ("old", Variable::Before, Kinds::MAP.or(Kinds::NULL)),
    ("caller", Variable::Caller, Kinds::MAP),
    ("now", Variable::Now, Kinds::TIMESTAMP),
    ("today", Variable::Today, Kinds::TEXT),
    ("parent", Variable::Parent, Kinds::TEXT.or(Kinds::NULL)),
];

/// Returns whether every expression knows a name, so that no lookup may have it.
pub(in super::super) fn is_taken(name: &str) -> bool {
    VARIABLES.iter().any(|(known, ..)| *known == name) || Kind::of_type(name).is_some()
}

impl Compiler<'_> {
    pub(super) fn variable(&mut self, at: &IdedExpr, name: &str) -> Outcome<Typed> {
        if let Some(place) = self.locals.iter().rposition(|(local, _)| local == name) {
            return Ok(Typed::new(Node::Local(place), self.locals[place].1));
        }
        if let Some(place) = self.lookups.iter().position(|(lookup, _)| lookup == name) {
            self.uses_lookups = true;
            let kinds = if self.lookups[place].1 == Shape::One {
                Kinds::MAP.or(Kinds::NULL)
            } else {
                Kinds::LIST
            };
            let elements =
                if self.lookups[place].1 == Shape::One { Kinds::TEXT } else { Kinds::MAP };
            return Ok(Typed { node: Node::Variable(Variable::Lookup(place)), kinds, elements });
        }
        if let Some((_, variable, kinds)) = VARIABLES.iter().find(|(known, ..)| *known == name) {
            return Ok(Typed {
                node: Node::Variable(*variable),
                kinds: *kinds,
                elements: Kinds::TEXT,
            });
        }
        if let Some(kind) = Kind::of_type(name) {
            return Ok(constant_of(Constant::Type(kind)));
        }
        let known = VARIABLES
            .iter()
            .map(|(name, ..)| *name)
            .chain(self.lookups.iter().map(|(name, _)| name.as_str()));
        let known: Vec<_> =
            known.chain(self.locals.iter().map(|(name, _)| name.as_str())).collect();
        let hint = nearest(name, known.iter().copied())
            .map_or_else(|| format!("known are {}", known.join(", ")), did_you_mean);
        self.refuse(at, format!("there is no variable `{}`; {hint}", shorten(name)))
    }

    /// `self.title`, or the name of a type such as `google.protobuf.Timestamp`.
    pub(super) fn selected(&mut self, select: &SelectExpr) -> Outcome<Typed> {
        let kind = if let Expr::Select(middle) = &select.operand.expr
            && let Expr::Ident(first) = &middle.operand.expr
        {
            Kind::of_type(&[first, &middle.field, &select.field].map(String::as_str).join("."))
        } else {
            None
        };
        match kind {
            Some(kind) => Ok(constant_of(Constant::Type(kind))),
            None => self.select(select).map(Self::member),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Outcome<Member> {
        let of = self.expression(&select.operand)?;
        let of = self.demand(of, Kinds::MAP, &select.operand, "what has members")?;
        self.member_of(of.node, &select.field, &select.operand)
    }

    pub(super) fn member_of(&mut self, of: Node, name: &str, at: &IdedExpr) -> Outcome<Member> {
        if matches!(of, Node::Variable(Variable::Caller)) && name != "id" {
            return self.refuse(
                at,
                format!("`caller` has an `id` and nothing else, no `{}`", shorten(name)),
            );
        }
        let quoted = domain::json::encode_string(name);
        let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let root = match &of {
            Node::Variable(Variable::Lookup(place)) => Some(self.lookups[*place].0.as_str()),
            Node::Local(place) => Some(self.locals[*place].0.as_str()),
            of => described(of),
        };
        let path = root.filter(|_| is_word).map(|root| shorten(&format!("{root}.{name}")).into());
        Ok(Member {
            of,
            name: name.into(),
            encoded: quoted[1..quoted.len() - 1].into(),
            path,
            offset: self.offset(at),
        })
    }

    pub(super) fn member(member: Member) -> Typed {
        let is_id = &*member.name == "id";
        let kinds = match member.of {
            Node::Variable(Variable::After | Variable::Before) if is_id => Kinds::TEXT,
            Node::Variable(Variable::Caller) => Kinds::TEXT.or(Kinds::NULL),
            // A map that was written out may hold anything.
            Node::Variable(_) => Kinds::JSON,
            _ => Kinds::ANY,
        };
        Typed::new(Node::Member(Box::new(member)), kinds)
    }

    pub(super) fn has(&mut self, of: &IdedExpr) -> Outcome<Typed> {
        let Expr::Select(select) = &of.expr else {
            return self.refuse(
                of,
                "has() takes a member by its name, such as has(self.title)".to_owned(),
            );
        };
        let member = self.select(select)?;
        Ok(Typed::new(Node::Has(Box::new(member)), Kinds::BOOLEAN))
    }
}
