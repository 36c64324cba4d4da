//! The schemas that are the same for all groups, as Rust types that are never values.

use std::borrow::Cow;
use std::collections::HashMap;
use std::marker::PhantomData;

use application::ChangeKind;
use domain::{Collection, Severity, Violations, WriteOperation};
use poem_openapi::Object;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

/// Registers all of them.
pub fn register(registry: &mut Registry) {
    Meta::register(registry);
    CollectionLinks::register(registry);
    CollectionMeta::register(registry);
    VersionHistory::register(registry);
    PatchOperation::register(registry);
    Problem::register(registry);
    ChangePage::register(registry);
    RuleList::register(registry);
    Health::register(registry);
}

/// A schema that no Rust type stands for.
pub trait Schema: Send + Sync + 'static {
    /// The schema.
    fn schema() -> MetaSchema;
}

/// A value of such a schema.
pub struct Of<S>(PhantomData<fn() -> S>);

impl<S: Schema> Type for Of<S> {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "value".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(S::schema()))
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

impl<S: Schema> ParseFromJSON for Of<S> {
    fn parse_from_json(_value: Option<Value>) -> ParseResult<Self> {
        Ok(Self(PhantomData))
    }
}

impl<S: Schema> ToJSON for Of<S> {
    fn to_json(&self) -> Option<Value> {
        None
    }
}

macro_rules! schemas {
    ($($(#[$doc:meta])* $name:ident = $schema:expr;)*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl Schema for $name {
            fn schema() -> MetaSchema {
                $schema
            }
        }
    )*};
}

schemas! {
    /// A URL.
    Uri = MetaSchema::new_with_format("string", "uri");
    /// An identifier.
    Uuid = MetaSchema::new_with_format("string", "uuid");
    /// A time (RFC 3339, UTC).
    DateTime = MetaSchema::new_with_format("string", "date-time");
    /// A day.
    Date = MetaSchema::new_with_format("string", "date");
    /// A number from 0.
    Count = MetaSchema { minimum: Some(0.0), ..MetaSchema::new_with_format("integer", "int64") };
    /// A number from 1.
    Number = MetaSchema { minimum: Some(1.0), ..MetaSchema::new_with_format("integer", "int64") };
    /// An HTTP status.
    Status = MetaSchema::new_with_format("integer", "int32");
    /// Any value.
    Anything = MetaSchema::ANY;
    /// The one value of a member that is left out otherwise.
    True = MetaSchema { enum_items: vec![true.into()], ..MetaSchema::new("boolean") };
    /// The word for a total that was not counted to the end.
    AtLeast = words(["at_least"]);
    /// The kind of a change.
    Kind = words(ChangeKind::ALL.map(ChangeKind::name));
    /// The name of a group.
    GroupName = words(Collection::names());
    /// The name of a write.
    WriteName = words(WriteOperation::ALL.map(WriteOperation::name));
    /// The severity of a rule.
    SeverityName = words(Severity::ALL.map(Severity::name));
    /// Where a rule is written.
    Home = words(["rust", "file"]);
    /// An operation of a JSON Patch.
    PatchName = words(["add", "remove", "replace"]);
}

fn words(words: impl IntoIterator<Item = &'static str>) -> MetaSchema {
    MetaSchema {
        enum_items: words.into_iter().map(Into::into).collect(),
        ..MetaSchema::new("string")
    }
}

const _: () = assert!(Violations::LIMIT == 100, "`max_items` below");

/// A link.
#[derive(Object)]
pub struct Link {
    /// Where it leads.
    href: Of<Uri>,
}

/// The state of an item, and what the service has to say about it.
#[derive(Object)]
pub struct Meta {
    /// How often the item was written.
    version: Of<Number>,
    /// When it was created (RFC 3339, UTC).
    created_at: Of<DateTime>,
    /// When it was last written (RFC 3339, UTC).
    updated_at: Of<DateTime>,
    /// How well it matches `q`: greater is better. Only in the answer to a search.
    score: Option<f64>,
    /// A piece of its strings as HTML, with what was found within `<mark>`. Only in the answer to a
    /// search.
    snippet: Option<String>,
    /// Nothing was stored: it was a dry run.
    dry_run: Option<Of<True>>,
    /// Remarks of business rules that do not refuse the write. Only where there are any, and with
    /// `check=true`.
    #[oai(validator(max_items = 100))]
    warnings: Option<Vec<Remark>>,
    /// The violations that a replacement by the same members would have now. Only with
    /// `check=true`.
    #[oai(validator(max_items = 100))]
    errors: Option<Vec<Remark>>,
    /// The write that made the version. Only in a version of its own.
    kind: Option<Of<Kind>>,
    /// Who made the version. Only in a version of its own.
    #[oai(nullable)]
    caller: Option<String>,
}

/// A remark of a business rule.
#[derive(Object)]
pub struct Remark {
    /// The id of the rule, or another stable word for what is wrong.
    code: String,
    /// Where, as a JSON Pointer (RFC 6901).
    pointer: String,
    /// A message that says what is wrong and how to fix it.
    message: String,
    /// The page of the business rule, where it is one.
    rule: Option<Of<Uri>>,
}

/// Links to the other pages, as far as there are any.
#[derive(Object)]
pub struct CollectionLinks {
    #[oai(rename = "self")]
    own: Link,
    first: Option<Link>,
    prev: Option<Link>,
    next: Option<Link>,
    last: Option<Link>,
    up: Option<Link>,
}

/// Remarks about the numbers; mostly none.
#[derive(Object)]
pub struct CollectionMeta {
    /// `total_items` was not counted to the end: there are more.
    total: Option<Of<AtLeast>>,
    /// Nothing was stored: it was a dry run.
    dry_run: Option<Of<True>>,
    /// Remarks of business rules that do not refuse the write.
    #[oai(validator(max_items = 100))]
    warnings: Option<Vec<Remark>>,
}

/// The versions of an item, the newest first.
#[derive(Object)]
pub struct VersionHistory {
    #[oai(rename = "_links")]
    links: CollectionLinks,
    #[oai(rename = "_embedded")]
    embedded: Versions,
    /// How many pages there are.
    page_count: Of<Number>,
    /// Versions per page.
    page_size: Of<Number>,
    /// How many versions there are.
    total_items: Of<Number>,
    /// This page, from 1.
    page: Of<Number>,
}

/// The versions of a page.
#[derive(Object)]
pub struct Versions {
    versions: Vec<VersionEntry>,
}

/// The write that made a version.
#[derive(Object)]
pub struct VersionEntry {
    /// Its number: 1, 2, 3….
    version: Of<Number>,
    /// When it was made (RFC 3339, UTC).
    time: Of<DateTime>,
    /// The kind of write.
    kind: Of<Kind>,
    /// Who did it; `null` for an anonymous caller.
    #[oai(nullable)]
    caller: String,
    #[oai(rename = "_links")]
    links: VersionLinks,
}

/// Links to the version, the one before, and the difference between them.
#[derive(Object)]
pub struct VersionLinks {
    #[oai(rename = "self")]
    own: Link,
    #[oai(rename = "predecessor-version")]
    predecessor: Option<Link>,
    diff: Option<Link>,
}

/// An operation of a JSON Patch (RFC 6902).
#[derive(Object)]
pub struct PatchOperation {
    /// The operation.
    op: Of<PatchName>,
    /// Where, as a JSON Pointer (RFC 6901).
    path: String,
    /// The new value; not with `remove`.
    value: Option<Of<Anything>>,
}

/// Problem details (RFC 9457).
#[derive(Object)]
pub struct Problem {
    /// A page that explains the problem and how to fix it.
    #[oai(rename = "type")]
    page: Of<Uri>,
    /// A phrase that says what happened.
    title: String,
    /// The HTTP status.
    status: Of<Status>,
    /// A stable word for programs.
    code: String,
    /// The error in this request.
    detail: String,
    /// The requested path.
    instance: Of<Uri>,
    /// Every error in the body.
    #[oai(validator(max_items = 100))]
    errors: Option<Vec<Fault>>,
    /// The same by field and code, for Laminas clients.
    validation_messages: Option<HashMap<String, HashMap<String, String>>>,
}

/// An error in the body.
#[derive(Object)]
pub struct Fault {
    /// Where, as a JSON Pointer into the body (RFC 6901).
    pointer: String,
    /// The member; empty for the body as a whole.
    field: String,
    /// The rule, as a stable word.
    code: String,
    /// A message that says what is wrong and how to fix it.
    detail: String,
    /// The page of the business rule, where it is one.
    rule: Option<Of<Uri>>,
}

/// Some changes, the oldest first.
#[derive(Object)]
pub struct ChangePage {
    #[oai(rename = "_links")]
    links: ChangePageLinks,
    #[oai(rename = "_embedded")]
    embedded: Changes,
    /// Most changes on a page.
    page_size: i64,
}

/// Links to the page, the one after it, and the entry point.
#[derive(Object)]
pub struct ChangePageLinks {
    #[oai(rename = "self")]
    own: Link,
    next: Link,
    up: Link,
}

/// The changes of a page.
#[derive(Object)]
pub struct Changes {
    changes: Vec<Change>,
}

/// A write of an item.
#[derive(Object)]
pub struct Change {
    /// The group of the item; library items of proposals are in `lib`.
    group: Of<GroupName>,
    /// The item that was written.
    item_id: Of<Uuid>,
    /// The version that was made.
    version: Of<Number>,
    /// The kind of write.
    kind: Of<Kind>,
    /// When (RFC 3339, UTC).
    time: Of<DateTime>,
    /// Who did it; `null` for an anonymous caller.
    #[oai(nullable)]
    caller: String,
    /// The cursor with which `after` continues behind it.
    cursor: String,
    #[oai(rename = "_links")]
    links: ChangeLinks,
}

/// Links to the item and to the version that was made.
#[derive(Object)]
pub struct ChangeLinks {
    item: Link,
    version: Link,
}

/// The business rules.
#[derive(Object)]
pub struct RuleList {
    #[oai(rename = "_links")]
    links: RuleListLinks,
    /// How many there are.
    total_items: Of<Count>,
    #[oai(rename = "_embedded")]
    embedded: Rules,
}

/// Links to the list and to the entry point.
#[derive(Object)]
pub struct RuleListLinks {
    #[oai(rename = "self")]
    own: Link,
    up: Link,
}

/// The rules of the list.
#[derive(Object)]
pub struct Rules {
    rules: Vec<Rule>,
}

/// A business rule.
#[derive(Object)]
pub struct Rule {
    /// The `code` of its violations.
    id: String,
    /// The group of the items it is about; library items of proposals are in `lib`.
    group: Of<GroupName>,
    /// The writes it judges.
    on: Vec<Of<WriteName>>,
    /// `error` refuses the write, `warning` is reported in `_meta.warnings`.
    severity: Of<SeverityName>,
    /// The message where it does not pass; `null` where that depends on the item.
    #[oai(nullable)]
    message: String,
    /// The expression (CEL) that makes the message where it depends on the item.
    #[oai(nullable)]
    message_expression: String,
    /// The location of its violations, as a JSON Pointer (RFC 6901).
    #[oai(nullable)]
    field: String,
    /// Its purpose.
    #[oai(nullable)]
    description: String,
    /// Where it comes from: a guideline, a memo.
    #[oai(nullable)]
    source: String,
    effective: Effective,
    /// Where it is written.
    home: Of<Home>,
    #[oai(rename = "_links")]
    links: RuleLinks,
}

/// The first and the last day on which a rule holds, where it does not always.
#[derive(Object)]
pub struct Effective {
    #[oai(nullable)]
    from: Option<Of<Date>>,
    #[oai(nullable)]
    until: Option<Of<Date>>,
}

/// Links to the rule, the list, and the collection it is about.
#[derive(Object)]
pub struct RuleLinks {
    #[oai(rename = "self")]
    own: Link,
    collection: Link,
    group: Link,
}

/// The state of the service.
#[derive(Object)]
pub struct Health {
    /// `ok` or `ready`.
    status: String,
}
