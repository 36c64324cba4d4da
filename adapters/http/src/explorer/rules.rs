//! The pages of the business rules: all of them, and each.

use application::{Caller, PublishedRule};
use askama::Template;
use domain::Severity;
use poem::Request;

use super::page::{Layout, render};
use super::{Explorer, group_of, query_of};
use crate::links::{RULE_PARAMETER, RULES};
use crate::problem::{Problem, kinds};
use crate::query::refuse_parameters;

#[derive(Template)]
#[template(path = "explorer/rules.html")]
struct RulesPage<'a> {
    layout: Layout<'a>,
    groups: Vec<RulesOfGroup>,
}

struct RulesOfGroup {
    name: &'static str,
    rules: Vec<RuleRow>,
}

#[derive(Template)]
#[template(path = "explorer/rule.html")]
struct RulePage<'a> {
    layout: Layout<'a>,
    rule: RuleRow,
    group: String,
    group_href: String,
}

struct RuleRow {
    id: String,
    href: String,
    message: String,
    /// True when the message is an expression.
    is_expression: bool,
    field: String,
    severity: &'static str,
    operations: String,
    description: String,
    source: String,
    from: String,
    until: String,
    home: &'static str,
}

impl Explorer {
    pub(super) fn show_rules(&self, request: &Request) -> Result<String, Problem> {
        refuse_parameters(query_of(request))?;
        let rules = self.catalog.list(&Caller::Anonymous);
        let groups = self.groups.iter().map(|known| {
            let collection = known.group.collection;
            let own = rules.iter().filter(|rule| rule.collection == collection);
            RulesOfGroup {
                name: collection.name(),
                rules: own.map(|it| self.rule_row(it)).collect(),
            }
        });
        let groups = groups.filter(|group| !group.rules.is_empty()).collect();
        let mut layout = self.layout("Business rules", "rules");
        layout.command = Some(self.command(RULES, ""));
        render(&RulesPage { layout, groups })
    }

    pub(super) fn show_rule(&self, request: &Request) -> Result<String, Problem> {
        refuse_parameters(query_of(request))?;
        let id = request.raw_path_param(RULE_PARAMETER).unwrap_or_default();
        let rule = self.catalog.get(&Caller::Anonymous, id).ok_or_else(|| {
            Problem::new(&kinds::RULE_NOT_FOUND, "There is no rule of this name.")
        })?;
        self.rule(&rule)
    }

    /// The page of a rule.
    pub fn rule(&self, rule: &PublishedRule) -> Result<String, Problem> {
        let mut layout = self.layout(format!("Rule {}", rule.id), "rules");
        layout.command = Some(self.command(&format!("{RULES}/{}", rule.id), ""));
        render(&RulePage {
            layout,
            group: group_of(rule.collection).items_name.to_owned(),
            group_href: self.links.collection(rule.collection),
            rule: self.rule_row(rule),
        })
    }

    fn rule_row(&self, rule: &PublishedRule) -> RuleRow {
        let operations: Vec<_> = rule.operations.iter().map(|operation| operation.name()).collect();
        let day =
            |day: Option<jiff::civil::Date>| day.map_or_else(String::new, |day| day.to_string());
        let message = rule.message.clone().or_else(|| rule.message_expression.clone());
        RuleRow {
            href: self.links.rule(&rule.id),
            message: message.unwrap_or_default(),
            is_expression: rule.message.is_none() && rule.message_expression.is_some(),
            field: rule.pointer.clone().unwrap_or_default(),
            severity: match rule.severity {
                Severity::Warning => "warning",
                Severity::Error => "error",
            },
            operations: operations.join(", "),
            description: rule.description.clone().unwrap_or_default(),
            source: rule.source.clone().unwrap_or_default(),
            from: day(rule.effective.0),
            until: day(rule.effective.1),
            home: rule.home.name(),
            id: rule.id.clone(),
        }
    }
}
