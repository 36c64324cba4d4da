//! The format of rule files: the tables that the reader and the JSON Schema follow.

use domain::{Collection, Severity, WriteOperation};

use crate::keys::Form::{
    self, Date, Expression, Id, Item, List, Mapping, Named, Null, OneOf, Pointer, Time,
};
use crate::keys::{Key, Presence, Table, Word};

/// Most characters of what people are told: a message, a description, a source.
const LONGEST_STRING: usize = 2_000;

const STRING: Form = Form::String(LONGEST_STRING);
const GROUP: Form = Form::Word(Word { of: "group", known: Collection::names });
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
/// The verdicts that a case may expect.
pub(crate) const PASS: &str = "pass";
pub(crate) const FAIL: &str = "fail";
const VERDICT: Form = Form::Word(Word { of: "verdict", known: || vec![PASS, FAIL] });
const FOUND: Form = OneOf(&[Null, Item, List(&Item)]);

pub(crate) static FILE: Table = table(
    "a rule file",
    &[
        optional("rules", List(&Mapping(&RULE)), "The rules."),
        optional(
            "cases",
            List(&Mapping(&CASE)),
            "The cases: writes with the verdict that a rule is to give, run by `rules test`.",
        ),
        optional(
            "members",
            Named(Some(OPEN_GROUP), &List(&STRING)),
            "The names of your agency's own members by group, which `rules check` then knows.",
        ),
    ],
);

pub(crate) static RULE: Table = table(
    "a rule",
    &[
        required(
            "id",
            Id,
            "The rule's name in the interface, which no other rule has.",
            "budget_is_positive",
        ),
        required("group", GROUP, "The group whose items it judges.", "proposals"),
        optional(
            "on",
            List(&OPERATION),
            "The writes that it judges; without it create, replace and patch.",
        ),
        optional("when", Expression, "The rule judges only where this CEL expression is true."),
        required("check", Expression, "A CEL expression that must be true.", "self.budget > 0"),
        alternative(
            "message",
            STRING,
            "What is wrong and how to fix it, where the check is false.",
        ),
        alternative("message_expression", Expression, "A CEL expression that makes the message."),
        optional(
            "field",
            Pointer,
            "Where the error is: a JSON Pointer (RFC 6901). Without it, the item as a whole.",
        ),
        optional(
            "severity",
            SEVERITY,
            "`error` refuses the write, `warning` is reported with it. Without it `error`.",
        ),
        optional(
            "effective",
            Mapping(&EFFECTIVE),
            "The days on which it is in force. Without it, always.",
        ),
        optional("description", STRING, "What the rule is for."),
        optional("source", STRING, "Where it comes from: a guideline, a memo."),
        optional(
            "lookup",
            Named(None, &Expression),
            "Other items that it needs to know, each under the name of a variable: 'COLLECTION[ID]', 'COLLECTION[MEMBER = VALUE]' or 'COLLECTION[parent = ID]'.",
        ),
    ],
);

pub(crate) static EFFECTIVE: Table = table(
    "`effective`",
    &[optional("from", Date, "The first day."), optional("until", Date, "The last day.")],
);

/// An element of `cases`. What lookups find may stand in it under their names.
pub(crate) static CASE: Table = open_table(
    "a case",
    &[
        required("rule", STRING, "The id of the rule.", "the_id_of_a_rule"),
        required("name", STRING, "What the case shows.", "a budget of zero is refused"),
        required("self", Item, "The item as it would be.", "{project_title: A title}"),
        optional(
            "old",
            OneOf(&[Null, Item]),
            "The item as it was; without it, the write is a create.",
        ),
        optional("on", OPERATION, "The write."),
        optional("today", Date, "The day."),
        optional("now", Time, "The time."),
        optional(
            "caller",
            OneOf(&[Null, STRING, Mapping(&CALLER)]),
            "The person or system that writes.",
        ),
        optional("parent", OneOf(&[Null, STRING]), "The id of the item that `self` belongs to."),
        optional(
            "lookup",
            Named(None, &FOUND),
            "What the rule's lookups find: an item or null by id, a list otherwise.",
        ),
        required("expect", VERDICT, "The verdict.", "fail"),
    ],
);

/// The table of `lookup` in a case, whose keys are the names of the rule's lookups.
pub(crate) static CASE_LOOKUP: Table = open_table("`lookup`", &[]);

pub(crate) static CALLER: Table =
    table("`caller`", &[optional("id", OneOf(&[Null, STRING]), "Its name.")]);

const fn table(name: &'static str, keys: &'static [Key]) -> Table {
    Table { name, keys, is_open: false }
}

const fn open_table(name: &'static str, keys: &'static [Key]) -> Table {
    Table { name, keys, is_open: true }
}

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
