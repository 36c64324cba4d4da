//! The format of rule files: the tables that the reader and the JSON Schema follow.

use domain::{Collection, Severity, WriteOperation};

use crate::cases::{FAIL, PASS};
use crate::keys::{Form, Key, Presence, Table, Word};

/// Most characters of what people are told: a message, a description, a source.
const LONGEST_STRING: usize = 2_000;

const STRING: Form = Form::String(LONGEST_STRING);
const GROUP: Word = Word { of: "group", known: Collection::names };
/// The groups whose items may have members of one's own.
pub(crate) const OPEN_GROUP: Word = Word {
    of: "group with members of your own:",
    known: || {
        let open = Collection::all().filter(|collection| collection.is_open());
        open.map(Collection::name).collect()
    },
};
const OPERATION: Form = Form::Word(Word {
    of: "operation",
    known: || WriteOperation::ALL.map(WriteOperation::name).to_vec(),
});
const SEVERITY: Form =
    Form::Word(Word { of: "severity", known: || Severity::ALL.map(Severity::name).to_vec() });
const VERDICT: Form = Form::Word(Word { of: "verdict", known: || vec![PASS, FAIL] });
/// The items that a lookup of a case finds.
const FOUND: Form = Form::OneOf(&[Form::Null, Form::Item, Form::List(&Form::Item)]);

/// A rule file.
pub(crate) static FILE: Table = Table {
    name: "a rule file",
    keys: &[
        optional("rules", Form::List(&Form::Mapping(&RULE)), "The rules."),
        optional(
            "cases",
            Form::List(&Form::Mapping(&CASE)),
            "The cases: writes with the verdict that a rule is to give, run by `rules test`.",
        ),
        optional(
            "members",
            Form::Named(Some(OPEN_GROUP), &Form::List(&STRING)),
            "The names of your agency's own members by group, which `rules check` then knows.",
        ),
    ],
    is_open: false,
};

/// An element of `rules`.
pub(crate) static RULE: Table = Table {
    name: "a rule",
    keys: &[
        required(
            "id",
            Form::Id,
            "The rule's name in the interface, which no other rule has.",
            "budget_is_positive",
        ),
        required("group", Form::Word(GROUP), "The group whose items it judges.", "proposals"),
        optional(
            "on",
            Form::List(&OPERATION),
            "The writes that it judges; without it create, replace and patch.",
        ),
        optional(
            "when",
            Form::Expression,
            "The rule judges only where this CEL expression is true.",
        ),
        required(
            "check",
            Form::Expression,
            "A CEL expression that must be true.",
            "self.budget > 0",
        ),
        alternative(
            "message",
            STRING,
            "What is wrong and how to fix it, where the check is false.",
        ),
        alternative(
            "message_expression",
            Form::Expression,
            "A CEL expression that makes the message.",
        ),
        optional(
            "field",
            Form::Pointer,
            "Where the error is: a JSON Pointer (RFC 6901). Without it, the item as a whole.",
        ),
        optional(
            "severity",
            SEVERITY,
            "`error` refuses the write, `warning` is reported with it. Without it `error`.",
        ),
        optional(
            "effective",
            Form::Mapping(&EFFECTIVE),
            "The days on which it is in force. Without it, always.",
        ),
        optional("description", STRING, "What the rule is for."),
        optional("source", STRING, "Where it comes from: a guideline, a memo."),
        optional(
            "lookup",
            Form::Named(None, &Form::Expression),
            "Other items that it needs to know, each under the name of a variable: 'COLLECTION[ID]', 'COLLECTION[MEMBER = VALUE]' or 'COLLECTION[parent = ID]'.",
        ),
    ],
    is_open: false,
};

pub(crate) static EFFECTIVE: Table = Table {
    name: "`effective`",
    keys: &[
        optional("from", Form::Date, "The first day."),
        optional("until", Form::Date, "The last day."),
    ],
    is_open: false,
};

/// An element of `cases`. What lookups find may stand in it under their names.
pub(crate) static CASE: Table = Table {
    name: "a case",
    keys: &[
        required("rule", STRING, "The id of the rule.", "the_id_of_a_rule"),
        required("name", STRING, "What the case shows.", "a budget of zero is refused"),
        required("self", Form::Item, "The item as it would be.", "{project_title: A title}"),
        optional(
            "old",
            Form::OneOf(&[Form::Null, Form::Item]),
            "The item as it was; without it, the write is a create.",
        ),
        optional("on", OPERATION, "The write."),
        optional("today", Form::Date, "The day."),
        optional("now", Form::Time, "The time."),
        optional(
            "caller",
            Form::OneOf(&[Form::Null, STRING, Form::Mapping(&CALLER)]),
            "The person or system that writes.",
        ),
        optional(
            "parent",
            Form::OneOf(&[Form::Null, STRING]),
            "The id of the item that `self` belongs to.",
        ),
        optional(
            "lookup",
            Form::Named(None, &FOUND),
            "What the rule's lookups find: an item or null by id, a list otherwise.",
        ),
        required("expect", VERDICT, "The verdict.", "fail"),
    ],
    is_open: true,
};

/// The table of `lookup` in a case, whose keys are the names of the rule's lookups.
pub(crate) static CASE_LOOKUP: Table = Table { name: "`lookup`", keys: &[], is_open: true };

pub(crate) static CALLER: Table = Table {
    name: "`caller`",
    keys: &[optional("id", Form::OneOf(&[Form::Null, STRING]), "Its name.")],
    is_open: false,
};

const fn required(
    name: &'static str,
    form: Form,
    description: &'static str,
    example: &'static str,
) -> Key {
    Key { name, presence: Presence::Required { example }, form, description }
}

const fn optional(name: &'static str, form: Form, description: &'static str) -> Key {
    Key { name, presence: Presence::Optional, form, description }
}

const fn alternative(name: &'static str, form: Form, description: &'static str) -> Key {
    Key { name, presence: Presence::Alternative, form, description }
}
