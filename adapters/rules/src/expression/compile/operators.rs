//! Literals, operators, lists and maps.

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::super::kinds::Kinds;
use super::super::node::{Constant, Node};
use super::super::operator::Operator;
use super::{Compiler, Outcome, Typed, constant_of};

impl Compiler<'_> {
    pub(super) fn literal(&self, at: &IdedExpr, literal: &LiteralValue) -> Outcome<Typed> {
        let constant = match literal {
            LiteralValue::Boolean(boolean) => Constant::Boolean(*boolean.inner()),
            LiteralValue::Double(double) => Constant::Double(*double.inner()),
            LiteralValue::Int(integer) => Constant::Integer(*integer.inner()),
            LiteralValue::Null => Constant::Null,
            LiteralValue::String(text) => Constant::String(text.inner().into()),
            LiteralValue::UInt(_) => {
                return self.refuse(
                    at,
                    "there are no unsigned numbers here; write it without `u`".to_owned(),
                );
            }
            LiteralValue::Bytes(_) => {
                return self
                    .refuse(at, "there are no bytes here; write a string without `b`".to_owned());
            }
        };
        Ok(constant_of(constant))
    }

    pub(super) fn list(&mut self, elements: &[IdedExpr]) -> Outcome<Typed> {
        let elements: Vec<_> =
            elements.iter().map(|element| self.expression(element)).collect::<Result<_, _>>()?;
        let kinds = elements.iter().fold(Kinds::NONE, |all, element| all.or(element.kinds));
        let nodes = elements.into_iter().map(|element| element.node).collect();
        Ok(Typed {
            node: Node::List(nodes),
            kinds: Kinds::LIST,
            elements: if kinds.is_none() { Kinds::ANY } else { kinds },
        })
    }

    pub(super) fn map<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e EntryExpr>,
    ) -> Outcome<Typed> {
        let mut nodes = Vec::new();
        for entry in entries {
            let EntryExpr::MapEntry(entry) = entry else { continue };
            let keys = Kinds::TEXT.or(Kinds::INTEGER).or(Kinds::BOOLEAN);
            nodes.push([
                self.demanded(&entry.key, keys, "the key of a map")?,
                self.expression(&entry.value)?.node,
            ]);
        }
        Ok(Typed::new(Node::Map(nodes.into()), Kinds::MAP))
    }

    pub(super) fn condition(
        &mut self,
        make: impl Fn(Box<[Node; 2]>) -> Node,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Outcome<Typed> {
        let sides = [left, right].map(|side| self.demanded(side, Kinds::BOOLEAN, "a condition"));
        let [left, right] = sides;
        Ok(Typed::new(make(Box::new([left?, right?])), Kinds::BOOLEAN))
    }

    pub(super) fn choice(
        &mut self,
        condition: &IdedExpr,
        then: &IdedExpr,
        otherwise: &IdedExpr,
    ) -> Outcome<Typed> {
        let condition = self.demanded(condition, Kinds::BOOLEAN, "the condition before `?`")?;
        let (then, otherwise) = (self.expression(then)?, self.expression(otherwise)?);
        let (kinds, elements) =
            (then.kinds.or(otherwise.kinds), then.elements.or(otherwise.elements));
        Ok(Typed {
            node: Node::Choice(Box::new([condition, then.node, otherwise.node])),
            kinds,
            elements,
        })
    }

    pub(super) fn index(&mut self, of: &IdedExpr, key: &IdedExpr) -> Outcome<Typed> {
        let holder = self.expression(of)?;
        let holder = self.demand(holder, Kinds::LIST.or(Kinds::MAP), of, "what is indexed")?;
        if let Expr::Literal(LiteralValue::String(name)) = &key.expr
            && holder.kinds.and(Kinds::LIST).is_none()
        {
            return self.member_of(holder.node, name.inner(), of).map(Self::member);
        }
        let key =
            self.demanded(key, Kinds::INTEGER.or(Kinds::TEXT).or(Kinds::BOOLEAN), "an index")?;
        Ok(Typed::new(Node::Index(Box::new([holder.node, key])), Kinds::ANY))
    }

    pub(super) fn is_in(&mut self, wanted: &IdedExpr, holder: &IdedExpr) -> Outcome<Typed> {
        let wanted_part = self.expression(wanted)?;
        let holder_part = self.expression(holder)?;
        let holder_part =
            self.demand(holder_part, Kinds::LIST.or(Kinds::MAP), holder, "what follows `in`")?;
        if holder_part.kinds == Kinds::LIST && !wanted_part.kinds.may_equal(holder_part.elements) {
            let reason =
                format!("{} is never in a list of {}", wanted_part.kinds, holder_part.elements);
            return self.refuse(wanted, reason);
        }
        let constants =
            if let Node::List(elements) = &holder_part.node { constants(elements) } else { None };
        let node = match constants {
            Some(constants) => Node::Among(Box::new(wanted_part.node), constants),
            None => Node::In(Box::new([wanted_part.node, holder_part.node])),
        };
        Ok(Typed::new(node, Kinds::BOOLEAN))
    }

    pub(super) fn binary(
        &mut self,
        at: &IdedExpr,
        name: &str,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Outcome<Typed> {
        let Some(operator) = Operator::named(name) else {
            return self.refuse(at, "this operator is not known".to_owned());
        };
        let (left, right) = (self.expression(left)?, self.expression(right)?);
        let kinds = operator.results(left.kinds, right.kinds);
        if kinds.is_none() {
            let (sign, hint) = (operator.sign(), sum_hint(operator, &left, &right));
            let reason = match operator {
                Operator::Equal | Operator::NotEqual => {
                    format!("{} never equals {}{hint}", left.kinds, right.kinds)
                }
                _ => format!("`{sign}` does not take {} and {}{hint}", left.kinds, right.kinds),
            };
            return self.refuse(at, reason);
        }
        let elements = left.elements.or(right.elements);
        Ok(Typed {
            node: Node::Binary(operator, Box::new([left.node, right.node])),
            kinds,
            elements,
        })
    }
}

/// Returns a hint on how to replace a sum of a date and a number.
fn sum_hint(operator: Operator, left: &Typed, right: &Typed) -> &'static str {
    let is_sum = |operator| matches!(operator, Operator::Add | Operator::Subtract);
    let sides = [left, right];
    let of_sum = sides.iter().any(|side| matches!(&side.node, Node::Binary(of, _) if is_sum(*of)));
    let is_either = |side: &&Typed| side.kinds.and(Kinds::TEXT.or(Kinds::NUMBER)) == side.kinds;
    if (is_sum(operator) || of_sum) && sides.iter().all(is_either) {
        "; write a later date with add_days(date, n), and a number in a string with string(n)"
    } else {
        ""
    }
}

fn constants(nodes: &[Node]) -> Option<Box<[Constant]>> {
    nodes
        .iter()
        .map(|node| if let Node::Constant(constant) = node { Some(constant.clone()) } else { None })
        .collect()
}
