//! From an element of `rules:` to a rule.

use std::sync::Arc;

use domain::{Collection, Lookup, Pointer, Severity, WriteOperation};
use jiff::civil::Date;

use crate::expression::{Expression, Shape, Wanted};
use crate::fault::FileFaults;
use crate::file_rule::{FileRule, Message};
use crate::keys::{self, Keys};
use crate::lookup_target::{LookupTarget, Written};
use crate::yaml::{Node, Scalar};

const KEYS: [&str; 13] = [
    "id",
    "group",
    "on",
    "when",
    "check",
    "message",
    "message_expression",
    "field",
    "severity",
    "effective",
    "description",
    "source",
    "lookup",
];

/// What `on` is when it is not written.
const ON: [WriteOperation; 3] =
    [WriteOperation::Create, WriteOperation::Replace, WriteOperation::Patch];

/// The keys of cases that a lookup cannot be named, because its values stand beside them.
const KEYS_OF_CASES: [&str; 5] = ["rule", "name", "on", "lookup", "expect"];

/// The words of the language (its specification's `RESERVED`, and the literals), which are no names
/// there.
const WORDS: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

const LONGEST_NAME: usize = 64;

/// Most characters of a description, and of a source.
const LONGEST_EXPLANATION: usize = 2_000;

/// A rule's `id`, if it is sound, and the rule, if all of it is.
pub(crate) fn read(
    node: &Node,
    file: &Arc<str>,
    faults: &mut FileFaults<'_>,
) -> Option<(Box<str>, Option<FileRule>)> {
    let keys = Keys::of(node, "a rule", faults)?;
    keys.refuse_unknown(&KEYS, faults);
    let id = id(&keys, faults);
    let collection = collection(&keys, faults);
    let operations = operations(&keys, faults);
    let severity = severity(&keys, faults);
    let effective = effective(&keys, faults);
    let field = keys.get("field").map(|_| field(&keys, faults));
    let [description, source] =
        ["description", "source"].map(|key| explanation(key, &keys, faults));
    let (variables, targets) = lookups(&keys, faults);
    let compile = |key, wanted, faults: &mut FileFaults<'_>| {
        keys.expression(key, faults).map(|scalar| compiled(scalar, wanted, &variables, faults))
    };
    let when = compile("when", Wanted::Boolean, faults);
    let check = keys
        .required("check", "self.budget > 0", faults)
        .and_then(|_| compile("check", Wanted::Boolean, faults));
    let message = message(&keys, &variables, faults);
    let rule = |id| {
        Some(FileRule {
            file: file.clone(),
            place: node.place,
            id,
            collection: collection?,
            operations: operations?,
            severity: severity?,
            effective: effective?,
            // A key that is there and no value of it: it has a fault.
            when: when.map_or(Some(None), |when| when.map(Some))?,
            check: check??,
            message: message?,
            field: field.map_or(Some(None), |field| field.map(Some))?,
            description,
            source,
            variables,
            targets,
        })
    };
    id.map(|id| (id.clone(), rule(id)))
}

fn compiled(
    scalar: &Scalar,
    wanted: Wanted,
    variables: &[(String, Shape)],
    faults: &mut FileFaults<'_>,
) -> Option<Expression> {
    Expression::compile(&scalar.text, wanted, variables)
        .map_err(|fault| faults.add(scalar.place_of(fault.offset), fault.reason))
        .ok()
}

/// What people are told of the rule, in every list of rules.
fn explanation(key: &str, keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<Box<str>> {
    let scalar = keys.text(key, faults)?;
    if scalar.text.chars().count() > LONGEST_EXPLANATION {
        faults.add(
            scalar.source.place,
            format!("the {key} has more than {LONGEST_EXPLANATION} characters; shorten it"),
        );
        return None;
    }
    Some(scalar.text.as_str().into())
}

fn id(keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<Box<str>> {
    keys.required("id", "budget_is_positive", faults)?;
    let scalar = keys.text("id", faults)?;
    let id = scalar.text.as_str();
    let is_sound = id.len() <= LONGEST_NAME
        && id.starts_with(|first: char| first.is_ascii_lowercase())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !is_sound {
        let reason = "an `id` has lower-case letters, digits and `_`, begins with a letter, and is at most 64 characters long";
        faults.add(scalar.source.place, reason);
    }
    is_sound.then(|| id.into())
}

fn collection(keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<Collection> {
    keys.required("group", "proposals", faults)?;
    let scalar = keys.text("group", faults)?;
    keys::word(scalar, "group", Collection::named, &Collection::names(), faults)
}

fn operations(keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<Vec<WriteOperation>> {
    let Some(node) = keys.get("on") else { return Some(ON.to_vec()) };
    let elements = keys::list(node, "on", faults)?;
    if elements.is_empty() {
        faults.add(
            node.place,
            "`on` names no operation, so the rule would judge nothing; name some or remove the key",
        );
    }
    let known = WriteOperation::ALL.map(WriteOperation::name);
    let read = elements.iter().map(|element| {
        let scalar = keys::text(element, "on", faults)?;
        keys::word(scalar, "operation", WriteOperation::named, &known, faults)
    });
    // Each is read, so that all faults are told.
    let read: Vec<_> = read.collect();
    let operations = read.into_iter().collect::<Option<Vec<_>>>()?;
    if let Some(again) =
        (1..operations.len()).find(|place| operations[..*place].contains(&operations[*place]))
    {
        faults.add(
            elements[again].place,
            format!("`on` names `{}` twice; remove one", operations[again].name()),
        );
    }
    Some(operations).filter(|operations| !operations.is_empty())
}

fn severity(keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<Severity> {
    if keys.get("severity").is_none() {
        return Some(Severity::Error);
    }
    let scalar = keys.text("severity", faults)?;
    keys::word(scalar, "severity", Severity::named, &Severity::ALL.map(Severity::name), faults)
}

fn effective(keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<(Option<Date>, Option<Date>)> {
    let Some(node) = keys.get("effective") else { return Some((None, None)) };
    let days = Keys::of(node, "`effective`", faults)?;
    days.refuse_unknown(&["from", "until"], faults);
    let (from, until) = (days.day("from", faults), days.day("until", faults));
    if let (Some(first), Some(last)) = (from, until)
        && last < first
    {
        faults.add(node.place, format!("the rule would end on {last}, before it begins on {first}; correct one of the two days"));
        return None;
    }
    Some((from, until))
}

fn field(keys: &Keys<'_>, faults: &mut FileFaults<'_>) -> Option<(Box<str>, Pointer)> {
    let node = keys.get("field")?;
    // The empty pointer is the whole item.
    let scalar = match node.scalar() {
        Some(scalar) if !scalar.is_plain && scalar.text.is_empty() => scalar,
        _ => keys.text("field", faults)?,
    };
    let text = scalar.text.as_str();
    match pointer(text) {
        Ok(pointer) => Some((text.into(), pointer)),
        Err(reason) => {
            faults.add(scalar.source.place, reason);
            None
        }
    }
}

/// Reads an RFC 6901 JSON Pointer.
fn pointer(text: &str) -> Result<Pointer, String> {
    let mut tokens = text.split('/');
    if tokens.next().is_some_and(|before| !before.is_empty()) {
        return Err(format!(
            "`field` is a JSON Pointer (RFC 6901), which begins with `/`; write `/{text}`"
        ));
    }
    tokens.try_fold(Pointer::root(), |pointer, token| {
        let is_escaped_well = token.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        let name = token.replace("~1", "/").replace("~0", "~");
        is_escaped_well.then(|| pointer.member(&name)).ok_or_else(|| {
            format!("in a JSON Pointer `~` is written `~0`, and `/` in a name `~1`: `{text}`")
        })
    })
}

fn message(
    keys: &Keys<'_>,
    variables: &[(String, Shape)],
    faults: &mut FileFaults<'_>,
) -> Option<Message> {
    match (keys.get("message"), keys.get("message_expression")) {
        (Some(_), None) => {
            Some(Message::Fixed(explanation("message", keys, faults)?.trim_end().into()))
        }
        (None, Some(_)) => {
            let scalar = keys.expression("message_expression", faults)?;
            let expression = compiled(scalar, Wanted::Text, variables, faults)?;
            Some(Message::Computed { expression, source: scalar.text.trim_end().into() })
        }
        (Some(_), Some(node)) => {
            faults.add(
                node.place,
                "a rule has a `message` or a `message_expression`; remove one of the two",
            );
            None
        }
        (None, None) => {
            faults.add(
                keys.place,
                "a rule needs a `message`, or a `message_expression` that makes one; say what is wrong and how to mend it",
            );
            None
        }
    }
}

/// The variables of the lookups, also of those that have a fault, so that expressions may name
/// them; and the sound lookups.
fn lookups(
    keys: &Keys<'_>,
    faults: &mut FileFaults<'_>,
) -> (Vec<(String, Shape)>, Vec<LookupTarget>) {
    let (mut variables, mut targets) = (Vec::new(), Vec::new());
    let mapping = keys.get("lookup").and_then(|node| Keys::of(node, "`lookup`", faults));
    for (index, entry) in mapping.iter().flat_map(Keys::iter).enumerate() {
        if index == Lookup::MOST {
            faults.add(entry.place, format!("a rule looks up at most {} times", Lookup::MOST));
            break;
        }
        if let Some(reason) = misnamed(&entry.key) {
            faults.add(entry.place, reason);
        }
        let written = keys::expression(&entry.value, &entry.key, faults)
            .and_then(|scalar| Written::read(scalar, faults));
        variables.push((
            entry.key.clone(),
            written.as_ref().map_or(Shape::Many, |written| written.by.shape()),
        ));
        targets.extend(written.and_then(|written| written.compile(faults)));
    }
    (variables, targets)
}

fn misnamed(name: &str) -> Option<String> {
    let is_identifier = name.len() <= LONGEST_NAME
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if KEYS_OF_CASES.contains(&name) || WORDS.contains(&name) || Expression::is_taken(name) {
        Some(format!(
            "a lookup cannot be named `{name}`, which has a meaning already; choose another name"
        ))
    } else if !is_identifier {
        Some(format!(
            "`{name}` cannot name a lookup: it has letters, digits and `_`, begins with a letter, and is at most 64 characters long"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::pointer;

    #[test]
    fn pointers_are_those_of_rfc_6901() {
        for (text, reads) in [("", ""), ("/", "/"), ("/a", "/a"), ("/a~1b/m~0n/0", "/a~1b/m~0n/0")]
        {
            assert_eq!(pointer(text).map(|pointer| pointer.to_string()).as_deref(), Ok(reads));
        }
        for text in ["a", "a/b", "/a~", "/a~2", "/~x/b"] {
            assert!(pointer(text).is_err(), "{text}");
        }
    }
}
