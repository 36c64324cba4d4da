//! Format of rule files: the tables that the reader and the JSON Schema follow.

use domain::{Collection, Severity, WriteOperation};
use language::effective::EFFECTIVE;
use language::keys::Form::{
    self, Date, Expression, Id, Item, List, Mapping, Named, Null, OneOf, Pointer, Time,
};
use language::keys::{Table, Word, key};
use language::yaml::Advice;

const LONGEST_STRING: usize = 2_000;

pub(crate) const ADVICE: Advice =
    Advice { of_empty_file: "write the list `rules:`, the list `cases:`, or both", of_line: hint };

const STRING: Form = Form::String(LONGEST_STRING);
const GROUP: Form = Form::Word(Word { of: "group", known: Collection::names });
pub(crate) const OPEN_GROUP: Word = Word {
    of: "group with declared members",
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
pub(crate) const PASS: &str = "pass";
pub(crate) const FAIL: &str = "fail";
const VERDICT: Form = Form::Word(Word { of: "verdict", known: || vec![PASS, FAIL] });
const FOUND: Form = OneOf(&[Null, Item, List(&Item)]);

pub(crate) static FILE: Table = Table::closed("a rule file").with(&[
    key("rules", List(&Mapping(&RULE)), "The rules."),
    key(
        "cases",
        List(&Mapping(&CASE)),
        "Test cases: writes with the expected verdict of a rule, run by `rules test`.",
    ),
    key(
        "members",
        Named(Some(OPEN_GROUP), &List(&STRING)),
        "The names of your agency's own members by group, which `rules check` then knows.",
    ),
]);

pub(crate) static RULE: Table = Table::closed("a rule").with(&[
    key("id", Id, "The unique name of the rule in the API.")
        .required("budget_is_positive"),
    key("group", GROUP, "The group whose items it checks.").required("proposals"),
    key("on", List(&OPERATION), "The writes that it checks. Default: create, replace and patch."),
    key("when", Expression, "The rule applies only if this CEL expression is true."),
    key("check", Expression, "A CEL expression that must be true.").required("self.budget > 0"),
    key("message", STRING, "Describes the error and how to fix it, if the check is false.")
        .alternative(),
    key("message_expression", Expression, "A CEL expression for the message.").alternative(),
    key(
        "field",
        Pointer,
        "The location of the error: a JSON Pointer (RFC 6901). Default: the whole item.",
    ),
    key(
        "severity",
        SEVERITY,
        "`error` refuses the write, `warning` is reported with it. Default: `error`.",
    ),
    key("effective", Mapping(&EFFECTIVE), "The days on which it is in force. Default: always."),
    key("description", STRING, "The purpose of the rule."),
    key("source", STRING, "Its source: a guideline, a memo."),
    key(
        "lookup",
        Named(None, &Expression),
        "Other items that it needs, by the name of a variable: 'COLLECTION[ID]', 'COLLECTION[MEMBER = VALUE]' or 'COLLECTION[parent = ID]'. ID and VALUE may use earlier ones.",
    ),
]);

/// Element of `cases`. Results of lookups are additional keys.
pub(crate) static CASE: Table = Table::open("a case").with(&[
    key("rule", STRING, "The id of the rule.").required("the_id_of_a_rule"),
    key("name", STRING, "The name of the test case.").required("a budget of zero is refused"),
    key("self", Item, "The item after the write.").required("{project_title: A title}"),
    key(
        "old",
        OneOf(&[Null, Item]),
        "The item before the write. Without it, the write is a create.",
    ),
    key("on", OPERATION, "The write."),
    key("today", Date, "The day."),
    key("now", Time, "The time."),
    key(
        "caller",
        OneOf(&[Null, STRING, Mapping(&language::caller::CALLER)]),
        "The caller that writes.",
    ),
    key("parent", OneOf(&[Null, STRING]), "The id of the item that `self` belongs to."),
    key(
        "lookup",
        Named(None, &FOUND),
        "The results of the rule's lookups: an item or null by id, otherwise a list.",
    ),
    key("expect", VERDICT, "The verdict.").required("fail"),
]);

/// Table of `lookup` in a case; its keys are the names of the rule's lookups.
pub(crate) static CASE_LOOKUP: Table = Table::open("`lookup`");

fn hint(line: &str) -> &'static str {
    let has_lookup = line
        .split_once("lookup:")
        .is_some_and(|(_, value)| value.trim_start().starts_with('{') && value.contains('['));
    if has_lookup {
        return "; put a lookup within `{…}` in quotes: {program: 'proposedprograms[self.program_id]'}";
    }
    let key = line
        .trim_start_matches(['-', ' ', '\t', '"', '{', ','])
        .split([':', '"'])
        .next()
        .unwrap_or_default();
    if matches!(key, "check" | "when" | "message_expression" | "message" | "description" | "source")
    {
        "; put a value with `: ` or ` #`, or that begins with one of `! & * [ ] { } > | @ % \" '`, in the lines below `|`"
    } else {
        ""
    }
}

pub fn schema() -> String {
    language::schema("Business rules in files", &FILE)
}
