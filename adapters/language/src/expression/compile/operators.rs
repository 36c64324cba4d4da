use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::super::kinds::{ANY, BOOLEAN, INTEGER, LIST, MAP, NONE, NUMBER, STRING};
use super::super::operator::Operator;
use super::super::term::Term;
use super::super::value::{StringVal, Val};
use super::{Compiled, Compiler, Typed, constant_of, constants};

impl Compiler<'_> {
    pub(super) fn literal(&self, at: &IdedExpr, literal: &LiteralValue) -> Compiled<Typed> {
        Ok(constant_of(match literal {
            LiteralValue::Boolean(boolean) => Val::Boolean(*boolean.inner()),
            LiteralValue::Double(double) => Val::Double(*double.inner()),
            LiteralValue::Int(integer) => Val::Integer(*integer.inner()),
            LiteralValue::Null => Val::Null,
            LiteralValue::String(text) => Val::String(StringVal::Made(text.inner().into())),
            LiteralValue::UInt(_) => {
                return self.refuse(at, "unsigned numbers are not supported; write it without `u`");
            }
            LiteralValue::Bytes(_) => {
                return self.refuse(at, "bytes are not supported; write a string without `b`");
            }
        }))
    }

    pub(super) fn list(&mut self, elements: &[IdedExpr]) -> Compiled<Typed> {
        let elements: Vec<_> =
            elements.iter().map(|element| self.expression(element)).collect::<Result<_, _>>()?;
        let kinds = elements.iter().fold(NONE, |all, element| all.or(element.kinds));
        let nodes: Vec<_> = elements.into_iter().map(|element| element.node).collect();
        let node = match constants(&nodes) {
            Some(constants) => Term::Constant(Val::made_list(constants)),
            None => Term::List(nodes.into()),
        };
        let elements = if kinds.is_none() { ANY } else { kinds };
        Ok(Typed { node, kinds: LIST, elements })
    }

    pub(super) fn map<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e EntryExpr>,
    ) -> Compiled<Typed> {
        let mut nodes = Vec::new();
        for entry in entries {
            let EntryExpr::MapEntry(entry) = entry else { continue };
            let keys = STRING.or(INTEGER).or(BOOLEAN);
            let key = self.demanded(&entry.key, keys, "the key of a map")?;
            nodes.push([key.node, self.expression(&entry.value)?.node]);
        }
        Ok(Typed::new(Term::Map(nodes.into()), MAP))
    }

    pub(super) fn condition(
        &mut self,
        make: impl Fn(Box<[Term; 2]>) -> Term,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Compiled<Typed> {
        let sides = [left, right].map(|side| self.demanded(side, BOOLEAN, "a condition"));
        let [left, right] = sides;
        Ok(Typed::new(make(Box::new([left?.node, right?.node])), BOOLEAN))
    }

    pub(super) fn choice(
        &mut self,
        condition: &IdedExpr,
        then: &IdedExpr,
        otherwise: &IdedExpr,
    ) -> Compiled<Typed> {
        let condition = self.demanded(condition, BOOLEAN, "the condition before `?`")?;
        let (then, otherwise) = (self.expression(then)?, self.expression(otherwise)?);
        let (kinds, elements) =
            (then.kinds.or(otherwise.kinds), then.elements.or(otherwise.elements));
        Ok(Typed {
            node: Term::Choice(Box::new([condition.node, then.node, otherwise.node])),
            kinds,
            elements,
        })
    }

    pub(super) fn index(&mut self, of: &IdedExpr, key: &IdedExpr) -> Compiled<Typed> {
        let holder = self.demanded(of, LIST.or(MAP), "the value before `[`")?;
        if let Expr::Literal(LiteralValue::String(name)) = &key.expr
            && holder.kinds.and(LIST).is_none()
        {
            return Ok(Self::member(self.member_of(holder.node, name.inner(), of)?));
        }
        let key = self.demanded(key, INTEGER.or(STRING).or(BOOLEAN), "an index")?;
        Ok(Typed::new(Term::Index(Box::new([holder.node, key.node])), ANY))
    }

    pub(super) fn is_in(&mut self, wanted: &IdedExpr, holder: &IdedExpr) -> Compiled<Typed> {
        let value = self.expression(wanted)?;
        let holder = self.demanded(holder, LIST.or(MAP), "the value after `in`")?;
        if holder.kinds == LIST && !value.kinds.may_equal(holder.elements) {
            let reason = format!("{} is never in a list of {}", value.kinds, holder.elements);
            return self.refuse(wanted, reason);
        }
        let node = Term::In(Box::new([value.node, holder.node]));
        Ok(Typed::new(node, BOOLEAN))
    }

    pub(super) fn binary(
        &mut self,
        at: &IdedExpr,
        operator: Operator,
        left: &IdedExpr,
        right: &IdedExpr,
    ) -> Compiled<Typed> {
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
            node: Term::Binary(operator, Box::new([left.node, right.node])),
            kinds,
            elements,
        })
    }
}

fn sum_hint(operator: Operator, left: &Typed, right: &Typed) -> &'static str {
    let is_sum = |operator| matches!(operator, Operator::Add | Operator::Subtract);
    let sides = [left, right];
    let of_sum = sides.iter().any(|side| matches!(&side.node, Term::Binary(of, _) if is_sum(*of)));
    let is_either = |side: &&Typed| side.kinds.and(STRING.or(NUMBER)) == side.kinds;
    if (is_sum(operator) || of_sum) && sides.iter().all(is_either) {
        "; write a later date with add_days(date, n), and a number in a string with string(n)"
    } else {
        ""
    }
}
