//! Format of policy files: the tables that the reader and the JSON Schema follow.

use domain::{Collection, Operation};
use language::caller::CALLER;
use language::effective::EFFECTIVE;
use language::keys::Form::{self, Date, Id, Item, List, Mapping, Named, Null, OneOf, Time};
use language::keys::{Key, Table, Word, key};

const LONGEST_STRING: usize = 2_000;

pub(crate) const ANONYMOUS: &str = "anonymous";
/// In `to`: all callers.
pub(crate) const ANYONE: &str = "anyone";
/// In `to`: all known callers.
pub(crate) const SIGNED_IN: &str = "signed_in";

pub(crate) const SEVERAL: [(&str, &[Operation]); 2] = [
    ("update", &[Operation::Replace, Operation::Patch]),
    ("write", &[Operation::Create, Operation::Replace, Operation::Patch, Operation::Delete]),
];

pub(crate) const ALLOW: &str = "allow";
pub(crate) const DENY: &str = "deny";
pub(crate) const HIDE: &str = "hide";

const STRING: Form = Form::String(LONGEST_STRING);
const EXPRESSION: Form = Form::Expression;
pub(crate) const GROUP_NAME: Word = Word { of: "group", known: Collection::names };
const GROUP: Form = Form::Word(GROUP_NAME);
const GROUPS: Form = OneOf(&[GROUP, List(&GROUP)]);
const OPERATION: Form =
    Form::Word(Word { of: "operation", known: || Operation::ALL.map(Operation::name).to_vec() });
pub(crate) const OPERATION_WORDS: Word = Word {
    of: "operation",
    known: || {
        let several = SEVERAL.map(|(word, _)| word);
        Operation::ALL.map(Operation::name).into_iter().chain(several).collect()
    },
};
const MEMBERS: Form = List(&STRING);
const OPERATIONS: Form = List(&Form::Word(OPERATION_WORDS));
const DECISION: Form = Form::Word(Word { of: "decision", known: || vec![ALLOW, DENY] });
const SAMPLE_CALLER: Form = OneOf(&[Null, STRING, Mapping(&CALLER)]);

/// Keys of future versions. They get their own error instead of the one for a typing error.
pub(crate) const LATER_OF_FILE: &[&str] = &["open"];

pub(crate) static FILE: Table = Table::closed("a policy file").with(&[
    key(
        "roles",
        Named(None, &Mapping(&ITEM_ROLE)),
        "Roles on items, by name. They pass on to items that belong or refer to the item.",
    ),
    key("policies", List(&Mapping(&POLICY)), "The policies."),
    key(
        "cases",
        List(&Mapping(&CASE)),
        "Test cases: requests with the expected decision, run by `policies test`.",
    ),
    key("matrix", Mapping(&MATRIX), "A table of callers and items with all permitted operations."),
]);

pub(crate) static POLICY: Table = Table::closed("a policy").with(&[
    key("id", Id, "The unique name of the policy.").required("staff_reads"),
    key("description", STRING, "The purpose of the policy."),
    key("source", STRING, "Its source: a guideline, a memo."),
    key("effective", Mapping(&EFFECTIVE), "The days on which it is in force. Default: always."),
    key("group", GROUPS, "The group, or a list of groups, whose items it applies to.")
        .required("proposals"),
    key("allow", OPERATIONS, "The operations that it allows.").alternative(),
    key("deny", OPERATIONS, "The operations that it denies, even if other policies allow them.")
        .alternative(),
    key(
        HIDE,
        MEMBERS,
        "The members that are absent for readers, even if other policies show them: names, JSON Pointers such as `/address/city`, or `meta.created_by` for the names of callers.",
    )
    .alternative(),
    key("show", MEMBERS, "With `allow: [read]`: the only members that it shows. Default: all."),
    key(
        "write",
        MEMBERS,
        "With `allow` of create, replace or patch: the only members that a write may set, change or remove. Default: all.",
    ),
    key(
        "to",
        List(&STRING),
        "The roles that it applies to: callers with one of them. `signed_in` is every known caller, `anyone` every caller.",
    )
    .required("[reviewer]"),
    key("when", EXPRESSION, "The items that it applies to. Default: all."),
    key(
        "change",
        EXPRESSION,
        "The writes that it applies to: a condition on `self`, the new item, and `old`. By default `when` must also hold of the new item.",
    ),
    LOOKUP,
]);

const LOOKUP: Key = key(
    "lookup",
    Named(None, &EXPRESSION),
    "Other items that the conditions need, by the name of a variable: 'GROUP[ID]', 'GROUP[MEMBER = VALUE]' or 'GROUP[parent = ID]'.",
);

pub(crate) static ITEM_ROLE: Table = Table::closed("a role").with(&[
    key("group", GROUP, "The group of the items.").required("proposals"),
    key("description", STRING, "The meaning of the role."),
    key("when", EXPRESSION, "The items on which the caller has the role.")
        .required("'meta.created_by == caller.id'"),
    LOOKUP,
]);

pub(crate) static CASE: Table = Table::closed("a case").with(&[
    key("name", STRING, "The name of the test case.").required("a stranger changes nothing"),
    key("caller", SAMPLE_CALLER, "The caller, or `anonymous`.")
        .required("{id: 'agency:1', roles: [reviewer]}"),
    key("operation", OPERATION, "The operation.").required("read"),
    key("group", GROUP, "The group of the item.").required("proposals"),
    SELF,
    OLD,
    key("meta", Mapping(&META), "The metadata of the item."),
    PARENT,
    FOUND,
    key("today", Date, "The day. Default: 2026-01-01."),
    key(
        "hidden",
        MEMBERS,
        "All members of the item that the caller does not see, if it can be read.",
    ),
    key("expect", DECISION, "The decision.").required("deny"),
]);

pub(crate) static META: Table = Table::closed("`meta`").with(&[
    key(
        "created_by",
        OneOf(&[Null, STRING]),
        "The id of the caller that created the item; null if unknown.",
    ),
    key("created_at", Time, "The time of its creation. Default: 2026-01-01T00:00:00Z."),
]);

pub(crate) static MATRIX: Table = Table::closed("`matrix`").with(&[
    key("callers", Named(None, &SAMPLE_CALLER), "The callers by name; `anonymous` has no id.")
        .required("{guest: anonymous}"),
    key("items", Named(None, &Mapping(&ITEM)), "The items by name.")
        .required("{draft: {group: proposals}}"),
    key("today", Date, "The day. Default: 2026-01-01."),
    key(
        "expect",
        Named(None, &Named(None, &OPERATIONS)),
        "All permitted operations by caller and item.",
    )
    .required("{guest: {draft: []}}"),
    key(
        "hidden",
        Named(None, &Named(None, &MEMBERS)),
        "All members that a caller who can read an item does not see, by caller and item. Default: none.",
    ),
]);

pub(crate) static ITEM: Table = Table::closed("an item").with(&[
    key("group", GROUP, "Its group.").required("proposals"),
    SELF,
    OLD,
    key("meta", Mapping(&META), "Its metadata."),
    PARENT,
    FOUND,
]);

const SELF: Key = key("self", Item, "The members of the item. It may have an `id`.");
const OLD: Key = key("old", Item, "The item before the write. Default: `self`.");
const PARENT: Key = key("parent", OneOf(&[Null, STRING]), "The id of the item that it belongs to.");
const FOUND: Key = key(
    "lookup",
    Named(Some(GROUP_NAME), &List(&Item)),
    "The items of other groups, the newest last. They may have an `id`, a `parent` and `meta`. A lookup finds those that have its value, or do not say.",
);

/// Table of one row of `expect`; its keys are the names of the matrix.
pub(crate) static NAMED: Table = Table::open("`expect`");

pub fn schema() -> String {
    language::schema("Policies in files", &FILE)
}
