//! The pages of the business rules.

use std::time::{Duration, Instant};

use application::{Caller, PublishedRule, RuleHome, WrittenRule};
use askama::Template;
use domain::Operation;
use poem::Request;

use crate::explorer::page::{Layout, render};
use crate::explorer::{Explorer, cells};
use crate::groups::GroupSpec;
use crate::links::{RULE_PARAMETER, RULES};
use crate::problem::{Problem, Result, kinds};
use crate::query::{invalid, is_on, refuse_parameters};
use crate::request::caller::caller_of;

/// Time limit per page.
const AUDITED_FOR: Duration = Duration::from_secs(2);

const SHOWN: usize = 20;

#[derive(Template)]
#[template(path = "explorer/rules.html")]
struct RulesPage<'a> {
    layout: Layout<'a>,
    failed_files: Vec<String>,
    groups: Vec<(&'static str, Vec<&'a PublishedRule>)>,
}

#[derive(Template)]
#[template(path = "explorer/rule.html")]
struct RulePage<'a> {
    layout: Layout<'a>,
    rule: &'a PublishedRule,
    group: &'static str,
    /// `None` if the caller may not open it.
    group_href: Option<String>,
    can_audit: bool,
    /// For rules in files only.
    written: Option<WrittenRule>,
    audit: Option<Audit>,
}

/// Stored items with remarks of the rule, within the time limit.
pub struct Audit {
    remarked: u64,
    examined: u64,
    is_whole: bool,
    items: Vec<AuditedItem>,
}

struct AuditedItem {
    href: String,
    title: String,
    messages: Vec<String>,
}

impl Explorer {
    pub(in crate::explorer) fn show_rules(&self, request: &Request) -> Result<String> {
        refuse_parameters(request)?;
        let rules = self.context.changing.catalog.list(caller_of(request));
        let groups = self.groups.iter().map(|known| {
            let collection = known.group.collection;
            let own = rules.iter().filter(|rule| rule.collection == collection);
            (collection.name(), own.collect::<Vec<_>>())
        });
        let groups = groups.filter(|(_, rules)| !rules.is_empty()).collect();
        let layout = self.layout(request, "Business rules", "rules", self.command(RULES, ""));
        let failed_files = self.deployment.failed_files();
        render(&RulesPage { layout, failed_files, groups })
    }

    pub(in crate::explorer) async fn show_rule(&self, request: &Request) -> Result<String> {
        let is_audit = is_on(request, "audit")?;
        let caller = caller_of(request);
        let rule =
            self.known_rule(caller, request.raw_path_param(RULE_PARAMETER).unwrap_or_default())?;
        if is_audit && rule.home == RuleHome::Rust {
            return Err(invalid(
                "`audit` is available only for rules from files. This rule is written in Rust.",
            ));
        }
        let audit = if is_audit { Some(self.audit(caller, &rule).await?) } else { None };
        self.rule_page(request, &rule, audit)
    }

    pub(in crate::explorer) fn known_rule(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<PublishedRule> {
        let rule = self.context.changing.catalog.get(caller, id);
        rule.ok_or_else(|| Problem::new(&kinds::RULE_NOT_FOUND, "No rule has this name."))
    }

    pub fn rule_page(
        &self,
        request: &Request,
        rule: &PublishedRule,
        audit: Option<Audit>,
    ) -> Result<String> {
        let command = self.command(&format!("{RULES}/{}", rule.id), "");
        let may_read = self.may(caller_of(request), rule.collection, Operation::Read);
        render(&RulePage {
            layout: self.layout(request, format!("Rule {}", rule.id), "rules", command),
            group: GroupSpec::of(rule.collection).items_name,
            group_href: may_read.then(|| self.links.collection(rule.collection)),
            written: self.context.changing.catalog.written(caller_of(request), &rule.id),
            can_audit: rule.home == RuleHome::File,
            audit,
            rule,
        })
    }

    /// Examines stored items, oldest first, for a bounded time.
    async fn audit(&self, caller: &Caller, rule: &PublishedRule) -> Result<Audit> {
        let service = self.service(GroupSpec::of(rule.collection))?;
        let _permit = self
            .audits
            .try_acquire()
            .map_err(|_| Problem::unavailable("Another audit is still in progress. Try again."))?;
        let begun = Instant::now();
        let mut audit = Audit { remarked: 0, examined: 0, is_whole: false, items: Vec::new() };
        let mut after = None;
        while !audit.is_whole && begun.elapsed() < AUDITED_FOR {
            let audited = service.audit(caller, after).await?;
            audit.examined += audited.examined;
            for (item, verdict) in audited.remarked {
                let remarks = verdict.errors.iter().chain(verdict.warnings.iter());
                let own = remarks.filter(|it| it.rule.as_deref() == Some(rule.id.as_str()));
                let messages: Vec<_> = own.map(|remark| remark.detail.clone()).collect();
                if messages.is_empty() {
                    continue;
                }
                audit.remarked += 1;
                if audit.items.len() < SHOWN {
                    let href = self.links.item(rule.collection, item.id);
                    let title = cells::title(&item, GroupSpec::of(rule.collection).columns);
                    audit.items.push(AuditedItem { href, title, messages });
                }
            }
            after = audited.next;
            audit.is_whole = after.is_none();
        }
        Ok(audit)
    }
}

fn operations(rule: &PublishedRule) -> String {
    let names: Vec<_> = rule.operations.iter().map(|operation| operation.name()).collect();
    names.join(", ")
}

fn period(rule: &PublishedRule) -> String {
    match rule.effective {
        (None, None) => "always".to_owned(),
        (Some(first), None) => format!("from {first}"),
        (None, Some(last)) => format!("until {last}"),
        (Some(first), Some(last)) => format!("from {first} until {last}"),
    }
}
