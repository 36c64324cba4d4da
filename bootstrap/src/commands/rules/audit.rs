//! `rules audit`: applies rules to stored items, before the rules are in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use application::{
    Audited, Caller, PageRequest, Ports, PublishedRule, ResourceLimits, ResourceService,
    RuleCatalog, RuleHome, audited_operation,
};
use domain::{Collection, Item, ItemId, Severity, Verdict, Violation, WriteOperation};
use http_adapter::item_title;
use indicatif::ProgressBar;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::commands::entries::Entries;
use crate::commands::error::Result;
use crate::commands::options::{AuditOptions, EntryFormat};
use crate::commands::progress::ProgressMeter;
use crate::{close, look, open_rules, ports};

const BAR: &str =
    "{bar:32} {percent:>3} %  item {human_pos} of {human_len}, {rate} a second, {eta} left";

const ITEM: &[&str] =
    &["group", "id", "rule", "severity", "operation", "pointer", "message", "items", "title"];
const RULE: &[&str] = &[
    "rule",
    "group",
    "severity",
    "operation",
    "examined",
    "applied",
    "refused",
    "warned",
    "undecided",
];

pub async fn audit(options: &AuditOptions) -> Result<()> {
    let rules = open_rules(Some(&options.file))?;
    let mut meter = ProgressMeter::start(None, BAR, "checking items")?;
    let store = look(&options.database).await?;
    let ports = ports(&store, rules, Arc::new(options.time_zone.clock()));
    let mut audit = AuditRun::begin(&ports, options).await?;
    let bar = meter.bar.clone();
    bar.set_length(audit.total);
    let outcome = meter.watch(audit.run(&bar)).await;
    meter.end();
    outcome?;
    audit.entries.end()?;
    if options.summary || options.output == EntryFormat::Plain {
        audit.summarize(options.output, &meter)?;
    }
    drop((audit, ports));
    close(store).await;
    Ok(())
}

struct AuditRun {
    caller: Caller,
    total: u64,
    is_summary: bool,
    groups: Vec<(Collection, ResourceService)>,
    counts: BTreeMap<String, RuleTally>,
    entries: Entries,
}

struct RuleTally {
    rule: PublishedRule,
    /// Audited operation: a valid item may break a rule about creates.
    operation: WriteOperation,
    examined: u64,
    applied: u64,
    remarked: u64,
    undecided: u64,
    first_undecided: Option<(ItemId, Box<str>)>,
}

impl RuleTally {
    fn of(rule: PublishedRule) -> Self {
        let operation = audited_operation(&rule.operations).unwrap_or(WriteOperation::Replace);
        let (examined, applied, remarked, undecided) = <_>::default();
        let first_undecided = None;
        Self { rule, operation, examined, applied, remarked, undecided, first_undecided }
    }

    fn looked_at_as(&self) -> String {
        match self.operation {
            WriteOperation::Replace => String::new(),
            operation => format!(", as a {}", operation.name()),
        }
    }
}

impl AuditRun {
    async fn begin(ports: &Ports, options: &AuditOptions) -> Result<Self> {
        let caller = Caller::service("audit");
        let rules = RuleCatalog::new(Arc::clone(&ports.rules)).list(&caller);
        let rules = rules.into_iter().filter(|rule| rule.home == RuleHome::File);
        let counts: BTreeMap<_, _> =
            rules.map(|rule| (rule.id.clone(), RuleTally::of(rule))).collect();
        let has_rule = |of: &Collection| counts.values().any(|count| count.rule.collection == *of);
        // An audit makes no writes, so limits do not apply.
        let limits = ResourceLimits {
            largest: usize::MAX,
            key_lifetime: SignedDuration::ZERO,
            content_per_proposal: None,
        };
        let (mut groups, mut total) = (Vec::new(), 0);
        for collection in Collection::all().filter(has_rule) {
            let use_cases = ResourceService::new(collection, ports, limits);
            // With pages of one item, the number of pages is that of items.
            let one = PageRequest::plain(1, 1);
            let listing = use_cases.list(&caller, None, &one).await?;
            total += listing.page_count.unwrap_or_default();
            groups.push((collection, use_cases));
        }
        let format = if options.summary { EntryFormat::Plain } else { options.output };
        let entries = Entries::new(format, ITEM)?;
        Ok(Self { caller, total, is_summary: options.summary, groups, counts, entries })
    }

    async fn run(&mut self, bar: &ProgressBar) -> Result<()> {
        for (collection, use_cases) in std::mem::take(&mut self.groups) {
            let mut after = None;
            loop {
                let Audited { remarked, examined, applied, next } =
                    use_cases.audit(&self.caller, after).await?;
                for (item, verdict) in &remarked {
                    self.tell(collection, item, verdict)?;
                }
                for (rule, items) in applied {
                    self.counts.entry(rule).and_modify(|count| count.applied += items);
                }
                let counts = self.counts.values_mut();
                for count in counts.filter(|count| count.rule.collection == collection) {
                    count.examined += examined;
                }
                bar.inc(examined);
                if next.is_none() {
                    break;
                }
                after = next;
            }
        }
        self.tell_undecided()
    }

    fn tell(&mut self, collection: Collection, item: &Item, verdict: &Verdict) -> Result<()> {
        let Verdict { errors, warnings } = verdict;
        let (id, title) = (item.id, item_title(collection, item));
        for violation in errors.iter().chain(warnings.iter()) {
            let Violation { code, pointer, detail, undecided, .. } = violation;
            let Some(count) = self.counts.get_mut(code.as_ref()) else { continue };
            count.remarked += 1;
            if let Some(reason) = undecided {
                count.undecided += 1;
                count.first_undecided.get_or_insert_with(|| (id, reason.clone()));
                continue;
            }
            if self.is_summary {
                continue;
            }
            let (group, severity, how) =
                (collection.name(), count.rule.severity.name(), count.looked_at_as());
            let (id, pointer) = (id.to_string(), pointer.to_string());
            let named = title.as_ref().map(|title| format!(" {title:?}")).unwrap_or_default();
            let line =
                format!("{group}/{id}{named}: {severity} {code} at {pointer:?}{how}: {detail}");
            let operation = count.operation.name();
            let values = json!([group, id, code, severity, operation, pointer, detail, 1, title]);
            self.entries.write(&line, &values)?;
        }
        Ok(())
    }

    /// Writes one entry for all undecided items of a rule: a mistake in a rule may affect every
    /// item.
    fn tell_undecided(&mut self) -> Result<()> {
        for (code, count) in self.counts.iter().filter(|_| !self.is_summary) {
            let Some((id, reason)) = &count.first_undecided else { continue };
            let RuleTally { rule, operation, undecided, .. } = count;
            let (group, severity) = (rule.collection.name(), rule.severity.name());
            let (id, items) = (id.to_string(), if *undecided == 1 { "item" } else { "items" });
            let said = format!("{undecided} {items} could not be evaluated and count as failed");
            let line = format!(
                "{group}: {severity} {code}{}: {said}; the first one is {id}: {reason}",
                count.looked_at_as()
            );
            let message = format!("{said}; reason for this item: {reason}");
            let operation = operation.name();
            let values =
                json!([group, id, code, severity, operation, "", message, undecided, null]);
            self.entries.write(&line, &values)?;
        }
        Ok(())
    }

    fn summarize(&self, format: EntryFormat, meter: &ProgressMeter) -> Result<()> {
        let mut entries = Entries::new(format, RULE)?;
        if format == EntryFormat::Plain {
            let (total, seconds) = (meter.bar.position(), meter.seconds());
            let line = format!("checked {total} items in {seconds:.1} s");
            entries.write(&line, &Value::Null)?;
        }
        for (id, count) in &self.counts {
            let RuleTally { rule, operation, examined, applied, remarked, undecided, .. } = count;
            let (refused, warned, does) = match rule.severity {
                Severity::Error => (*remarked, 0, "refuse"),
                Severity::Warning => (0, *remarked, "warn of"),
            };
            let of_these = match undecided {
                0 => String::new(),
                undecided => format!("; {undecided} could not be evaluated"),
            };
            let line = format!(
                "  {id} applies to {applied} of {examined}, would {does} {remarked}{of_these}{}",
                count.looked_at_as()
            );
            let (group, severity) = (rule.collection.name(), rule.severity.name());
            let operation = operation.name();
            let values = json!([
                id, group, severity, operation, examined, applied, refused, warned, undecided
            ]);
            entries.write(&line, &values)?;
        }
        entries.end()
    }
}
