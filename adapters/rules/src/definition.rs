//! Converts an element of `rules:` to a rule.

use domain::{Collection, Severity, WriteOperation};
use language::Lookups;
use language::effective::Effective;
use language::error::ErrorCollector;
use language::expression::{BOOLEAN, Expression, STRING, Variables, is_taken};
use language::keys::{Keys, LONGEST_NAME};
use language::yaml::Node;

use crate::file_format::RULE;
use crate::file_rule::{FileRule, Message, RuleField};
use crate::metrics::Verdicts;
use crate::notes::Notes;

const ON: [WriteOperation; 3] =
    [WriteOperation::Create, WriteOperation::Replace, WriteOperation::Patch];

/// Keys of cases, which cannot be names of lookups: the results are next to them.
const KEYS_OF_CASES: [&str; 5] = ["rule", "name", "on", "lookup", "expect"];

/// Reserved words of CEL (`RESERVED` in its specification) and its literals.
const WORDS: &str = "true false null in as break const continue else for function if import let \
                     loop package namespace return var void while";

pub(crate) fn read(
    node: &Node,
    errors: &mut ErrorCollector<'_>,
) -> Option<(Box<str>, Option<FileRule>)> {
    let errors_before = errors.count();
    let keys = Keys::of(node, &RULE, Some(&[]), errors)?;
    let lookups = Lookups::read(&keys, Variables::OF_A_WRITE, misnamed, errors);
    let (mut notes, variables) = (Notes::of_keys(&lookups), lookups.variables);
    let targets = lookups.targets.into_iter().map(|(_, target)| target).collect();
    let mut compile = |key, wanted| {
        let scalar = keys.scalar(key)?;
        let compiled = Expression::compile(&scalar.text, wanted, &variables)
            .map_err(|error| (scalar.place_of(error.offset), error.reason));
        let expression = errors.take(compiled)?;
        notes.add(&expression, scalar, 0);
        Some(expression)
    };
    let when = compile("when", BOOLEAN);
    let check = compile("check", BOOLEAN);
    let message = match keys.string("message_expression") {
        Some(source) => compile("message_expression", STRING)
            .map(|expression| Message::Computed { expression, source: source.trim_end().into() }),
        None => keys.string("message").map(|message| Message::Fixed(message.trim_end().into())),
    };
    let operations = operations(&keys, errors);
    let effective = Effective::read(&keys, "rule", errors);
    let field = keys.scalar("field").map(|scalar| RuleField {
        pointer: keys.pointer("field").unwrap_or_default(),
        written: scalar.text.as_str().into(),
        place: scalar.place,
    });
    let id: Box<str> = keys.string("id")?.into();
    let is_sound = errors.count() == errors_before;
    let rule = || {
        Some(FileRule {
            file: errors.file().clone(),
            place: node.place,
            id: id.clone(),
            definition: node.written().into(),
            collection: Collection::named(keys.string("group")?)?,
            operations,
            severity: keys.string("severity").map_or(Some(Severity::Error), Severity::named)?,
            effective,
            when,
            check: check?,
            message: message?,
            field,
            description: keys.string("description").map(Into::into),
            source: keys.string("source").map(Into::into),
            variables,
            targets,
            notes,
            verdicts: Verdicts::default(),
        })
    };
    let rule = if is_sound { rule() } else { None };
    Some((id, rule))
}

fn operations(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> Vec<WriteOperation> {
    let Some(node) = keys.get("on") else { return ON.to_vec() };
    let elements = keys.elements("on");
    if elements.is_empty() {
        errors.add(
            node.place,
            "`on` is empty, so the rule would never apply; list operations or remove the key",
        );
    }
    let mut operations = Vec::with_capacity(elements.len());
    for scalar in elements.iter().filter_map(|element| element.scalar()) {
        let Some(operation) = WriteOperation::named(&scalar.text) else { continue };
        if operations.contains(&operation) {
            let name = operation.name();
            errors.add(scalar.place, format!("`on` names `{name}` more than once; remove one"));
        }
        operations.push(operation);
    }
    operations
}

pub(crate) fn misnamed(name: &str) -> Option<String> {
    let is_identifier = name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_word = WORDS.split_whitespace().any(|word| word == name);
    if KEYS_OF_CASES.contains(&name) || is_word || is_taken(name) {
        Some(format!(
            "a lookup cannot be named `{name}`: the name is reserved; choose another name"
        ))
    } else if !is_identifier {
        Some(format!(
            "`{name}` cannot name a lookup: use at most 64 letters, digits and `_`, and begin with a letter"
        ))
    } else {
        None
    }
}
