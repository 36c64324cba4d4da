//! Compiles the subject of a trial: a rule or an expression.

use std::sync::Arc;

use application::{RuleTrial, TrialError, TrialLookup, TrialSubject};
use domain::{Collection, Pointer, Value, Violation, Violations};
use language::error::{ErrorCollector, FileError, FileErrors, Located, Location};
use language::expression::{ANY, Expression, Shape, Variable};
use language::yaml::{self, Content, MOST_VALUES, Node};

use super::place::{in_json, in_text};
use crate::definition;
use crate::file_format::ADVICE;
use crate::file_rule::{FileRule, Message};

/// Limit above that of any expression.
const MOST_BYTES: usize = 128 << 10;

pub(super) enum CompiledSubject {
    Rule {
        rule: Box<FileRule>,
        /// JSON input: errors point to its members.
        is_json: bool,
    },
    Expression {
        expression: Expression,
        variables: Vec<(String, Shape)>,
    },
}

impl CompiledSubject {
    /// Reads the subject. The outer error is about the subject, the inner one about the lookups.
    pub fn read(trial: &RuleTrial) -> Result<Result<Self, Violations>, Vec<TrialError>> {
        let (source, is_json) = match &trial.subject {
            TrialSubject::Expression(source) => return expression(source, trial),
            TrialSubject::Yaml(source) => (source, false),
            TrialSubject::Json(source) => (source, true),
        };
        let rule = rule(source, trial.collection)
            .map_err(|errors| of_file(&errors, is_json.then_some(source.as_str())))?;
        Ok(Ok(Self::Rule { rule: Box::new(rule), is_json }))
    }

    pub fn variables(&self) -> &[(String, Shape)] {
        match self {
            Self::Rule { rule, .. } => &rule.variables,
            Self::Expression { variables, .. } => variables,
        }
    }

    pub fn uses(&self, variable: Variable) -> bool {
        match self {
            Self::Expression { expression, .. } => expression.uses(variable),
            Self::Rule { rule, .. } => {
                let FileRule { when, check, message, targets, .. } = &**rule;
                let message = match message {
                    Message::Computed { expression, .. } => Some(expression),
                    Message::Fixed(_) => None,
                };
                let values = targets.iter().map(|target| &target.value);
                let mut all = when.iter().chain([check]).chain(message).chain(values);
                all.any(|expression| expression.uses(variable))
            }
        }
    }
}

/// A lone expression sees exactly the given lookups.
fn expression(
    source: &str,
    trial: &RuleTrial,
) -> Result<Result<CompiledSubject, Violations>, Vec<TrialError>> {
    let mut violations = Violations::default();
    for (name, _) in &trial.lookups {
        if let Some(reason) = definition::misnamed(name) {
            let pointer = Pointer::to_member("lookup").member(name);
            violations.push_with(|| Violation::new(pointer, "invalid_name", reason));
        }
    }
    if !violations.is_empty() {
        return Ok(Err(violations));
    }
    let shape = |found: &TrialLookup| match found {
        TrialLookup::One(_) => Shape::One,
        TrialLookup::Many(_) => Shape::Many,
    };
    let variables: Vec<_> =
        trial.lookups.iter().map(|(name, found)| (name.clone(), shape(found))).collect();
    match Expression::compile(source, ANY, &variables) {
        Ok(expression) => Ok(Ok(CompiledSubject::Expression { expression, variables })),
        Err(error) => {
            let before = source.get(..error.offset).unwrap_or(source);
            let (message, place) = (error.reason, Some(in_text(before)));
            Err(vec![TrialError { message, pointer: Pointer::root(), place }])
        }
    }
}

fn rule(source: &str, collection: Collection) -> Result<FileRule, FileErrors> {
    let file: Arc<str> = "rule".into();
    let mut all = FileErrors::default();
    let mut errors = ErrorCollector::new(&file, &mut all);
    let rule = if source.trim().is_empty() {
        errors.add_to_file("the rule is missing; write one");
        None
    } else if source.len() > MOST_BYTES {
        let reason = format!("a rule may have at most {MOST_BYTES} bytes, not {}", source.len());
        errors.add_to_file(reason);
        None
    } else {
        yaml::parse(source, &ADVICE, &mut MOST_VALUES.clone(), &mut errors)
            .and_then(|tree| of_tree(&tree, collection, &mut errors))
    };
    match rule {
        Some(rule) if all.is_empty() => Ok(rule),
        _ => Err(all.sorted()),
    }
}

fn of_tree(
    tree: &Node,
    collection: Collection,
    errors: &mut ErrorCollector<'_>,
) -> Option<FileRule> {
    let node = errors.take(only_rule(tree))?;
    let (_, rule) = definition::read(node, errors)?;
    let rule = rule?;
    if rule.collection != collection {
        let reason = format!(
            "the rule is for `{}`, but the item is of `{}`; correct one of the two",
            rule.collection.name(),
            collection.name()
        );
        errors.add(place_of_group(node), reason);
    }
    Some(rule)
}

/// Finds the rule: alone, as the only element of a list, or as the only rule of a file.
fn only_rule(tree: &Node) -> Result<&Node, Located> {
    let list = tree.entry("rules").map_or(tree, |rules| &*rules.value);
    match &list.content {
        Content::List(elements) if elements.len() == 1 => Ok(&elements[0]),
        Content::List(others) => {
            let reason = format!("only one rule can be tried at a time, not {}", others.len());
            Err((list.place, reason))
        }
        _ => Ok(tree),
    }
}

fn place_of_group(node: &Node) -> Location {
    node.entry("group").map_or(node.place, |entry| entry.value.place)
}

fn of_file(errors: &FileErrors, json: Option<&str>) -> Vec<TrialError> {
    let error = |error: &FileError| {
        let (pointer, place) = match (error.place, json) {
            (Some(place), Some(json)) => in_json(Value::from_encoded(json), place),
            (place, _) => (Pointer::root(), place.map(|place| (place.line, place.column))),
        };
        TrialError { message: error.reason.clone(), pointer, place }
    };
    errors.iter().map(error).collect()
}
