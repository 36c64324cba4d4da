//! Constructors for poem-openapi's model.

use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use serde_json::Value;

use crate::groups::Group;

/// Placeholder `type` for the schema `false`, which [`mod@super::finish`] writes.
pub const NOTHING: &str = "nothing";

/// Leaks a string: the model holds `&'static str`, and the document is made once.
pub fn keep(string: String) -> &'static str {
    Box::leak(string.into_boxed_str())
}

/// Fills in the placeholders `{item}`, `{items}` and `{stem}`.
pub fn about(group: Group, template: &str) -> &'static str {
    let filled = template.replace("{item}", group.item_name).replace("{items}", group.items_name);
    keep(filled.replace("{stem}", group.stem))
}

pub fn inline(schema: MetaSchema) -> MetaSchemaRef {
    MetaSchemaRef::Inline(Box::new(schema))
}

/// Makes the rows of a table. The doc comment of a row becomes its last cell.
macro_rules! documented {
    ($($(#[doc = $text:literal])* ($($cell:expr),+ $(,)?);)+) => {
        [$(($($cell,)+ concat!($($text),*).trim_ascii_start())),+]
    };
}
pub(super) use documented;

pub fn reference(name: &str) -> MetaSchemaRef {
    MetaSchemaRef::Reference(name.to_owned())
}

pub fn no_other() -> MetaSchemaRef {
    inline(MetaSchema::new(NOTHING))
}

pub fn described(schema: MetaSchema, description: &'static str) -> MetaSchemaRef {
    inline(MetaSchema { description: Some(description), ..schema })
}

pub fn with_example(schema: MetaSchema, example: impl Into<Value>) -> MetaSchema {
    MetaSchema { example: Some(example.into()), ..schema }
}

pub fn formatted(format: &'static str) -> MetaSchema {
    MetaSchema::new_with_format("string", format)
}

pub fn matching(pattern: impl Into<String>) -> MetaSchema {
    MetaSchema { pattern: Some(pattern.into()), ..MetaSchema::new("string") }
}

pub fn integer_from(minimum: u8) -> MetaSchema {
    let minimum = Some(minimum.into());
    MetaSchema { minimum, ..MetaSchema::new_with_format("integer", "int64") }
}

pub fn one_of(words: impl IntoIterator<Item = impl Into<Value>>) -> MetaSchema {
    let enum_items = words.into_iter().map(Into::into).collect();
    MetaSchema { enum_items, ..MetaSchema::new("string") }
}

pub fn any_of(any_of: impl Into<Vec<MetaSchemaRef>>) -> MetaSchema {
    MetaSchema { any_of: any_of.into(), ..MetaSchema::ANY }
}

pub fn array(items: MetaSchemaRef) -> MetaSchema {
    MetaSchema { items: Some(Box::new(items)), ..MetaSchema::new("array") }
}

pub fn object(
    required: &[&'static str],
    properties: impl IntoIterator<Item = (&'static str, MetaSchemaRef)>,
) -> MetaSchema {
    let (required, properties) = (required.to_vec(), properties.into_iter().collect());
    MetaSchema { required, properties, ..MetaSchema::new("object") }
}
