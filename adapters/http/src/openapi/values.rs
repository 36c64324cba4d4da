//! Typed values in representations, each with its schema.

use std::borrow::Cow;

use application::TrialVerdict;
use domain::{Collection, Operation, Severity, WriteOperation};
use poem_openapi::Object;
use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use poem_openapi::types::{ParseFromJSON, ParseResult, ToJSON, Type};
use serde_json::Value;

use super::model::{any_of, formatted, inline, integer_from, object, one_of};

macro_rules! values {
    ($($name:ident = $schema:expr;)*) => {$(
        pub struct $name(pub Value);

        impl Type for $name {
            const IS_REQUIRED: bool = true;

            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn schema_ref() -> MetaSchemaRef {
                inline($schema)
            }

            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }

            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }

        impl ParseFromJSON for $name {
            fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
                Ok(Self(value.unwrap_or_default()))
            }
        }

        impl ToJSON for $name {
            fn to_json(&self) -> Option<Value> {
                Some(self.0.clone())
            }
        }
    )*};
}

/// The kind of a change after which the caller does not see the item.
pub const WITHDRAWN: &str = "withdrawn";

values! {
    Uri = formatted("uri");
    Uuid = formatted("uuid");
    DateTime = formatted("date-time");
    Date = formatted("date");
    StringOrNull = MetaSchema { nullable: true, ..MetaSchema::new("string") };
    Count = integer_from(0);
    Number = integer_from(1);
    True = MetaSchema { enum_items: vec![true.into()], ..MetaSchema::new("boolean") };
    AtLeast = one_of(["at_least"]);
    Removed = one_of(["removed"]);
    Kind = one_of(WriteOperation::LOGGED.map(WriteOperation::change_name));
    SeenKind = one_of(
        WriteOperation::LOGGED.map(WriteOperation::change_name).into_iter().chain([WITHDRAWN]),
    );
    GroupName = one_of(Collection::names());
    WriteName = one_of(WriteOperation::ALL.map(WriteOperation::name));
    SeverityName = one_of(Severity::ALL.map(Severity::name));
    Home = one_of(["rust", "file"]);
    PatchName = one_of(["add", "remove", "replace"]);
    VerdictName = one_of(TrialVerdict::ALL.map(TrialVerdict::name));
    RowStatus = one_of(["created", "replaced", "unchanged", "refused"]);
    AnyMembers = MetaSchema {
        additional_properties: Some(Box::new(inline(MetaSchema::ANY))),
        ..MetaSchema::new("object")
    };
    RuleSource = any_of([AnyMembers::schema_ref(), String::schema_ref()]);
    AccessSubject = object(&[], [("type", String::schema_ref()), ("id", String::schema_ref())]);
    AccessResource =
        object(&["type"], [("type", GroupName::schema_ref()), ("id", String::schema_ref())]);
    AccessAction =
        object(&["name"], [("name", inline(one_of(Operation::ALL.map(Operation::name))))]);
}

/// A link.
#[derive(Object)]
pub struct Link {
    /// Target URL.
    href: Uri,
}

impl Link {
    pub fn to(url: String) -> Self {
        Self { href: Uri(url.into()) }
    }

    pub fn url(&self) -> String {
        self.href.0.as_str().unwrap_or_default().to_owned()
    }
}

/// Links to the other pages, if they exist.
#[derive(Object)]
#[oai(skip_serializing_if_is_none)]
pub struct CollectionLinks {
    #[oai(rename = "self")]
    pub own: Link,
    pub first: Option<Link>,
    pub prev: Option<Link>,
    pub next: Option<Link>,
    pub last: Option<Link>,
    pub up: Option<Link>,
}
