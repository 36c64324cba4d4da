//! The representations of business rules, typed as documented.

use application::PublishedRule;
use poem_openapi::Object;

use crate::base_url::BaseUrl;
use crate::groups::GroupSpec;
use crate::links;
use crate::openapi::values::{
    Count, Date, GroupName, Home, Link, SeverityName, StringOrNull, WriteName,
};

/// The business rules.
#[derive(Object)]
pub struct RuleList {
    #[oai(rename = "_links")]
    links: RuleListLinks,
    /// Number of rules.
    total_items: Count,
    #[oai(rename = "_embedded")]
    embedded: EmbeddedRules,
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
#[oai(rename = "Rules")]
pub struct EmbeddedRules {
    rules: Vec<RuleResource>,
}

/// A business rule.
#[derive(Object)]
#[oai(rename = "Rule")]
pub struct RuleResource {
    /// The `code` of its violations.
    id: String,
    /// Group of the items it applies to. Library items of proposals are in `lib`.
    group: GroupName,
    /// Writes it applies to.
    on: Vec<WriteName>,
    /// `error` rejects the write, `warning` is reported in `_meta.warnings`.
    severity: SeverityName,
    /// Message if the rule does not pass. `null` if it depends on the item.
    message: StringOrNull,
    /// Expression (CEL) for the message, if it depends on the item.
    message_expression: StringOrNull,
    /// The location of its violations, as a JSON Pointer (RFC 6901).
    field: StringOrNull,
    /// Its purpose.
    description: StringOrNull,
    /// Its source, such as a guideline or a memo.
    source: StringOrNull,
    effective: Effective,
    /// Where it is defined: `rust` for the service itself, `file` for a rule file.
    home: Home,
    #[oai(rename = "_links")]
    links: RuleLinks,
}

/// First and last day of a rule's validity, if limited.
#[derive(Object)]
pub struct Effective {
    #[oai(nullable)]
    from: Option<Date>,
    #[oai(nullable)]
    until: Option<Date>,
}

/// Links to the rule, the list and the collection it applies to.
#[derive(Object)]
pub struct RuleLinks {
    #[oai(rename = "self")]
    own: Link,
    collection: Link,
    group: Link,
}

impl RuleList {
    pub fn of(rules: &[PublishedRule], base_url: &BaseUrl) -> Self {
        let rules: Vec<_> = rules.iter().map(|rule| RuleResource::of(rule, base_url)).collect();
        Self {
            links: RuleListLinks {
                own: Link::to(format!("{base_url}{}", links::RULES)),
                up: Link::to(format!("{base_url}/")),
            },
            total_items: Count(rules.len().into()),
            embedded: EmbeddedRules { rules },
        }
    }
}

impl RuleResource {
    pub fn of(rule: &PublishedRule, base_url: &BaseUrl) -> Self {
        let or_null = |string: &Option<String>| StringOrNull(string.clone().into());
        let [from, until] =
            <[_; 2]>::from(rule.effective).map(|day| day.map(|day| Date(day.to_string().into())));
        let group = GroupSpec::of(rule.collection);
        let writes = rule.operations.iter().map(|operation| operation.name());
        Self {
            id: rule.id.clone(),
            group: GroupName(rule.collection.name().into()),
            on: writes.map(|name| WriteName(name.into())).collect(),
            severity: SeverityName(rule.severity.name().into()),
            message: or_null(&rule.message),
            message_expression: or_null(&rule.message_expression),
            field: or_null(&rule.pointer),
            description: or_null(&rule.description),
            source: or_null(&rule.source),
            effective: Effective { from, until },
            home: Home(rule.home.name().into()),
            links: RuleLinks {
                own: Link::to(links::rule(base_url, &rule.id)),
                collection: Link::to(format!("{base_url}{}", links::RULES)),
                group: Link::to(links::collection(base_url, group, None)),
            },
        }
    }
}
