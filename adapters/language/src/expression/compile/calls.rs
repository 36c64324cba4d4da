//! Functions, and the macros on lists and maps.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators as signs};

use super::super::functions::{self, FUNCTIONS, Function, MOST_PARAMETERS, Style};
use super::super::kinds::{ANY, BOOLEAN, LIST, MAP, STRING};
use super::super::meter::{CostLimit, Meter};
use super::super::pattern::Pattern;
use super::super::term::{Call, Local, Loop, MACROS, Macro, Term};
use super::super::value::Val;
use super::super::{EvaluationError, mistakes, shorten};
use super::{Compiled, Compiler, MOST_PATTERNS, MOST_TABLES, Typed, constants, did_you_mean};

impl Compiler<'_> {
    pub(super) fn repeat(
        &mut self,
        at: &IdedExpr,
        name: &str,
        range: &IdedExpr,
        variable: &IdedExpr,
        rest: &[IdedExpr],
    ) -> Compiled<Typed> {
        let macro_ = Macro::named(name).unwrap_or(Macro::All);
        let (filter, body) = match rest {
            [body] => (None, body),
            [filter, body] if macro_ == Macro::Map => (Some(filter), body),
            _ => {
                let example = format!("such as x.{name}(e, e > 0)");
                let reason = format!("{name}() takes a variable and an expression, {example}");
                return self.refuse(at, reason);
            }
        };
        let Expr::Ident(variable_name) = &variable.expr else {
            let reason = format!("the first argument of {name}() must be a name for the element");
            return self.refuse(variable, reason);
        };
        let range = self.demanded(range, LIST.or(MAP), &format!("the target of {name}()"))?;
        let kinds = if range.kinds.and(MAP).is_none() { range.elements } else { ANY };
        let local = self.locals.len();
        self.locals.push((variable_name.clone(), kinds));
        let condition = format!("the condition of {name}()");
        let filter = filter.map(|filter| self.demanded(filter, BOOLEAN, &condition)).transpose();
        let wanted = if macro_ == Macro::Map { ANY } else { BOOLEAN };
        let body = self.demanded(body, wanted, &condition);
        self.locals.truncate(local);
        let (filter, body) = (filter?.map(|filter| filter.node), body?);
        let (kinds, elements) = match macro_ {
            Macro::Map => (LIST, body.kinds),
            Macro::Filter => (LIST, kinds),
            _ => (BOOLEAN, ANY),
        };
        let local = Local {
            place: local,
            name: variable_name.as_str().into(),
            offset: self.offset(variable),
        };
        let of = Loop { macro_, range: range.node, local, filter, body: body.node };
        Ok(Typed { node: Term::Loop(Box::new(of)), kinds, elements })
    }

    pub(super) fn function(&mut self, at: &IdedExpr, call: &CallExpr) -> Compiled<Typed> {
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
            let reason = format!("wrong arguments for {name}(); write {}", usage(function));
            return self.refuse(at, reason);
        }
        let what = format!("the argument of {name}()");
        let nodes = arguments
            .into_iter()
            .zip(function.parameters)
            .map(|(argument, parameter)| Ok(self.demanded(argument, *parameter, &what)?.node));
        let nodes: Vec<_> = nodes.collect::<Compiled<_>>()?;
        self.called(at, Call { function, arguments: nodes.into(), is_method })
    }

    /// Constant folding: evaluates a call with constant arguments, unless a list is involved.
    fn called(&self, at: &IdedExpr, call: Call) -> Compiled<Typed> {
        let function = call.function;
        let mut arguments = [const { Val::Null }; MOST_PARAMETERS];
        let known = constants(&call.arguments).unwrap_or_default();
        if !known.is_empty() && !known.iter().any(|of| matches!(of, Val::List(_))) {
            for (argument, constant) in arguments.iter_mut().zip(known) {
                *argument = constant;
            }
            match function.call(&arguments, &Meter::of(CostLimit::Verdict)) {
                Ok(Val::List(_) | Val::Map(_)) | Err(EvaluationError::BudgetExhausted) => {}
                Ok(constant) => return Ok(Typed::new(Term::Constant(constant), function.result)),
                Err(EvaluationError::Failed(reason)) => return self.refuse(at, reason),
            }
        }
        Ok(Typed::new(Term::Call(call), function.result))
    }

    fn matches(&mut self, at: &IdedExpr, arguments: &[&IdedExpr]) -> Compiled<Typed> {
        let [text, pattern] = arguments else {
            return self.refuse(at, "wrong arguments for matches(); write text.matches('pattern')");
        };
        let Expr::Literal(LiteralValue::String(source)) = &pattern.expr else {
            let reason = "the regular expression of matches() must be a string in quotes; it cannot be computed";
            return self.refuse(pattern, reason);
        };
        let text = self.demanded(text, STRING, "the text of matches()")?;
        self.patterns += 1;
        if self.patterns > MOST_PATTERNS {
            let reason = format!(
                "an expression may have at most {MOST_PATTERNS} regular expressions; split it into several rules"
            );
            return self.refuse(pattern, reason);
        }
        let at = pattern;
        let pattern = Pattern::new(source.inner()).or_else(|reason| self.refuse(at, reason))?;
        self.tables += pattern.size();
        if self.tables > MOST_TABLES {
            let reason = "the regular expressions are too large in total; use smaller repetitions, or several rules";
            return self.refuse(at, reason);
        }
        Ok(Typed::new(Term::Matches(Box::new(text.node), pattern), BOOLEAN))
    }

    fn unknown_function<T>(&self, at: &IdedExpr, call: &CallExpr) -> Compiled<T> {
        let name = call.func_name.as_str();
        let reason = if Macro::named(name).is_some() {
            format!(
                "wrong arguments for {name}(); write x.{name}(e, …) with a name for the element"
            )
        } else if name == signs::HAS {
            "wrong arguments for has(); write has(self.title)".to_owned()
        } else if let Some(instead) = mistakes::in_call(name) {
            format!("there is no function {name}(); {instead}")
        } else {
            let functions = FUNCTIONS.iter().map(|function| function.name);
            let macros = MACROS.iter().map(|(_, name)| *name).chain(["matches"]);
            let known: Vec<_> = functions.chain(["has"]).chain(macros).collect();
            let hint = did_you_mean(name, &known);
            format!("there is no function {}(); {hint}", shorten(name))
        };
        self.refuse(at, reason)
    }
}

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
