//! Format of a label file: the tables that the reader and the JSON Schema follow.

use domain::Collection;
use language::keys::Form::{self, List, Mapping, Named, OneOf};
use language::keys::{Table, Word, key};

const LONGEST_LABEL: usize = 100;
const LONGEST_HELP: usize = 1_000;
const LONGEST_VALUE: usize = 200;

const LANGUAGE: Form = Form::String(35);
const VALUE: Form = Form::String(LONGEST_VALUE);
const PATH: Form = Form::String(1_000);
const STRING: Form = Form::String(LONGEST_LABEL);
const LONG_STRING: Form = Form::String(LONGEST_HELP);
const LABEL: Form = OneOf(&[STRING, Named(None, &STRING)]);
const HELP: Form = OneOf(&[LONG_STRING, Named(None, &LONG_STRING)]);

pub(crate) const GROUP: Word = Word { of: "group", known: Collection::names };

pub(crate) static FILE: Table = Table::closed("a label file").with(&[
    key("name", LABEL, "The name of the agency, at the top of every page."),
    key(
        "logo",
        PATH,
        "A PNG, JPEG, WebP or SVG file of at most 100 KiB; relative to the label file.",
    ),
    key(
        "languages",
        List(&LANGUAGE),
        "The languages of the texts as tags of BCP 47, the default first. Default: en.",
    ),
    key("groups", Named(Some(GROUP), &Mapping(&GROUP_LABELS)), "The labels of groups by name."),
]);

pub(crate) static GROUP_LABELS: Table = Table::closed("a group").with(&[
    key("label", LABEL, "The name of the group in the menu."),
    key("fields", Named(None, &Mapping(&FIELD)), "The labels of fields by name."),
]);

pub(crate) static FIELD: Table = Table::closed("a field").with(&[
    key("label", LABEL, "The name of the field: a string, or a string for each language."),
    key("help", HELP, "The help text below the name."),
    key(
        "choices",
        List(&OneOf(&[VALUE, Mapping(&CHOICE)])),
        "The usual values. Forms warn about others.",
    ),
]);

pub(crate) static CHOICE: Table = Table::closed("a choice").with(&[
    key("value", VALUE, "The stored value.").required("Applied"),
    key("label", LABEL, "The name of the value."),
]);

pub fn schema() -> String {
    language::schema("Labels of the pages", &FILE)
}

/// Returns the greatest length of a text in characters.
pub(crate) fn longest(key: &str) -> usize {
    match key {
        "help" => LONGEST_HELP,
        "value" => LONGEST_VALUE,
        _ => LONGEST_LABEL,
    }
}
