//! Functions, and the macros on lists and maps.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators as signs};
use domain::nearest;

use super::super::evaluate::Evaluation;
use super::super::functions::{self, FUNCTIONS, Function, Style};
use super::super::kinds::Kinds;
use super::super::meter::{Budget, Meter};
use super::super::node::{Constant, Loop, Macro, Node};
use super::super::pattern::Pattern;
use super::super::{EvaluationError, mistakes, shorten};
use super::{Compiler, Outcome, Typed, did_you_mean};

impl Compiler<'_> {
    /// `range.all(variable, body)` and its like; `map` may have a condition between the two.
    pub(super) fn repeat(
        &mut self,
        at: &IdedExpr,
        name: &str,
        range: &IdedExpr,
        variable: &IdedExpr,
        rest: &[IdedExpr],
    ) -> Outcome<Typed> {
        let macro_ = Macro::named(name).unwrap_or(Macro::All);
        let (filter, body) =
            match rest {
                [body] => (None, body),
                [filter, body] if macro_ == Macro::Map => (Some(filter), body),
                _ => return self.refuse(
                    at,
                    format!(
                        "{name}() takes a variable and an expression, such as x.{name}(e, e > 0)"
                    ),
                ),
            };
        let Expr::Ident(variable_name) = &variable.expr else {
            return self.refuse(
                variable,
                format!("the first argument of {name}() is a name for the element"),
            );
        };
        let range_part = self.expression(range)?;
        let range_part = self.demand(
            range_part,
            Kinds::LIST.or(Kinds::MAP),
            range,
            &format!("what {name}() goes through"),
        )?;
        let kinds = if range_part.kinds.and(Kinds::MAP).is_none() {
            range_part.elements
        } else {
            Kinds::ANY
        };
        let local = self.locals.len();
        self.locals.push((variable_name.clone(), kinds));
        let parts = self.loop_parts(macro_, name, filter, body);
        self.locals.truncate(local);
        let (filter, body) = parts?;
        let (kinds, elements) = match macro_ {
            Macro::Map => (Kinds::LIST, body.kinds),
            Macro::Filter => (Kinds::LIST, kinds),
            _ => (Kinds::BOOLEAN, Kinds::ANY),
        };
        let node = Node::Loop(Box::new(Loop {
            macro_,
            range: range_part.node,
            local,
            filter,
            body: body.node,
        }));
        Ok(Typed { node, kinds, elements })
    }

    pub(super) fn loop_parts(
        &mut self,
        macro_: Macro,
        name: &str,
        filter: Option<&IdedExpr>,
        body: &IdedExpr,
    ) -> Outcome<(Option<Node>, Typed)> {
        let condition = format!("the condition of {name}()");
        let filter =
            filter.map(|filter| self.demanded(filter, Kinds::BOOLEAN, &condition)).transpose()?;
        let typed = self.expression(body)?;
        let wanted = if macro_ == Macro::Map { Kinds::ANY } else { Kinds::BOOLEAN };
        Ok((filter, self.demand(typed, wanted, body, &condition)?))
    }

    pub(super) fn function(&mut self, at: &IdedExpr, call: &CallExpr) -> Outcome<Typed> {
        let name = call.func_name.as_str();
        let arguments: Vec<&IdedExpr> =
            call.target.as_deref().into_iter().chain(&call.args).collect();
        if name == "matches" {
            return self.matches(at, &arguments);
        }
        let Some(function) = functions::named(name) else { return self.unknown_function(at, call) };
        let is_method = call.target.is_some();
        let is_styled =
            function.style == Style::Both || (function.style == Style::Method) == is_method;
        let most = function.parameters.len();
        let least = most - usize::from(function.is_last_optional);
        if !is_styled || !(least..=most).contains(&arguments.len()) {
            return self
                .refuse(at, format!("{name}() is not called so; write {}", usage(function)));
        }
        let mut nodes = Vec::with_capacity(arguments.len());
        for (argument, parameter) in arguments.into_iter().zip(function.parameters) {
            nodes.push(self.demanded(argument, *parameter, &format!("what {name}() takes"))?);
        }
        self.fold(at, function, nodes)
    }

    /// A call whose arguments are known now is made now.
    pub(super) fn fold(
        &self,
        at: &IdedExpr,
        function: &'static Function,
        nodes: Vec<Node>,
    ) -> Outcome<Typed> {
        if !nodes.is_empty() && nodes.iter().all(|node| matches!(node, Node::Constant(_))) {
            let meter = Meter::of(Budget::Verdict);
            let constant = Evaluation::without_scope(&meter)
                .call(function, &nodes)
                .map(|value| Constant::of(&value));
            match constant {
                Ok(Some(constant)) => {
                    return Ok(Typed::new(Node::Constant(constant), function.result));
                }
                Err(EvaluationError::Failed(reason)) => return self.refuse(at, reason),
                _ => {}
            }
        }
        Ok(Typed::new(Node::Call(function, nodes.into()), function.result))
    }

    pub(super) fn matches(&mut self, at: &IdedExpr, arguments: &[&IdedExpr]) -> Outcome<Typed> {
        let [text, pattern] = arguments else {
            return self.refuse(
                at,
                "matches() is not called so; write text.matches('pattern')".to_owned(),
            );
        };
        let Expr::Literal(LiteralValue::String(source)) = &pattern.expr else {
            return self.refuse(
                pattern,
                "the regular expression of matches() is a string in quotes; it cannot be computed"
                    .to_owned(),
            );
        };
        let text = self.demanded(text, Kinds::TEXT, "what matches() looks at")?;
        let pattern =
            Pattern::new(source.inner()).or_else(|reason| self.refuse(pattern, reason))?;
        Ok(Typed::new(Node::Matches(Box::new(text), pattern), Kinds::BOOLEAN))
    }

    pub(super) fn unknown_function<T>(&self, at: &IdedExpr, call: &CallExpr) -> Outcome<T> {
        let name = call.func_name.as_str();
        if Macro::named(name).is_some() {
            return self.refuse(
                at,
                format!(
                    "{name}() is not called so; write x.{name}(e, …) with a name for the element"
                ),
            );
        }
        if name == signs::HAS {
            return self.refuse(at, "has() is not called so; write has(self.title)".to_owned());
        }
        if let Some(instead) = mistakes::in_call(name) {
            return self.refuse(at, format!("there is no function {name}(); {instead}"));
        }
        let macros = ["has", "all", "exists", "exists_one", "map", "filter", "matches"];
        let known = FUNCTIONS.iter().map(|function| function.name).chain(macros);
        let hint = nearest(name, known.clone()).map_or_else(
            || format!("known are {}", known.collect::<Vec<_>>().join(", ")),
            did_you_mean,
        );
        self.refuse(at, format!("there is no function {}(); {hint}", shorten(name)))
    }
}

/// A call of a function, for messages.
fn usage(function: &Function) -> String {
    let needed = function.parameters.len() - usize::from(function.is_last_optional);
    let parameters: Vec<_> =
        function.parameters[..needed].iter().map(ToString::to_string).collect();
    let name = function.name;
    match (function.style, parameters.split_first()) {
        (Style::Method, Some((target, rest))) => {
            format!("x.{name}({}), where x is {target}", rest.join(", "))
        }
        _ => format!("{name}({})", parameters.join(", ")),
    }
}
