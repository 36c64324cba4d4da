//! `proposal-service rules audit`: what rules would say of what is stored, before they are put in
//! force.

use std::collections::BTreeMap;

use application::query::SortPosition;
use application::{
    ApplicationError, Audited, Caller, Ports, ResourceLimits, Scope, WriteOptions,
    audited_operation, resource_use_cases,
};
use domain::{Collection, ItemId, Members, Rule, Severity, Verdict, Violation, WriteOperation};
use jiff::SignedDuration;
use serde_json::Value;

use super::entries::Entries;
use crate::error::CommandError;
use crate::options::{AuditFormat, AuditOptions};
use crate::progress::Meter;
use crate::signals::Signals;
use crate::{Opened, Wiring};

const BAR: &str =
    "{bar:32} {percent:>3} %  item {human_pos} of {human_len}, {rate} a second, {eta} left";

/// The columns of an entry about an item that a rule would refuse or warn of.
const ITEM: &[&str] = &["group", "id", "rule", "severity", "operation", "pointer", "message"];
/// The columns of an entry about a rule.
const RULE: &[&str] =
    &["rule", "group", "severity", "operation", "examined", "applied", "refused", "warned"];

/// Looks at every item that the rules in a file are about, and says to how many each rule applies,
/// and which it would refuse or warn of.
pub async fn audit(options: &AuditOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    let Opened { ports, store } = (wiring.open_to_audit)(options).await?;
    let mut audit = Audit::begin(&ports, options).await?;
    let outcome = tokio::select! {
        outcome = audit.run(&ports) => outcome,
        signal = signals.next() => Err(CommandError::Stopped(signal)),
    };
    audit.meter.end();
    outcome?;
    audit.entries.end()?;
    drop(ports);
    crate::close(store).await;
    if options.summary || options.output == AuditFormat::Text {
        audit.summarize(options.output)?;
    }
    Ok(())
}

/// The results so far.
struct Audit {
    meter: Meter,
    is_summary: bool,
    /// The collections that there are rules about, and how many of their items were looked at.
    examined: Vec<(Collection, u64)>,
    counts: BTreeMap<String, Count>,
    entries: Entries,
}

/// A rule, and the number of items that it would refuse or warn of.
struct Count {
    collection: Collection,
    severity: Severity,
    /// The audited operation: an item may break a rule about creates and be sound.
    operation: WriteOperation,
    applied: u64,
    remarked: u64,
}

impl Count {
    fn of(collection: Collection, rule: &dyn Rule<Members>) -> Self {
        let operation = audited_operation(rule).unwrap_or(WriteOperation::Replace);
        Self { collection, severity: rule.severity(), operation, applied: 0, remarked: 0 }
    }

    /// The audited operation, where that is not a replacement.
    fn looked_at_as(&self) -> String {
        match self.operation {
            WriteOperation::Replace => String::new(),
            operation => format!(", as a {}", operation.name()),
        }
    }
}

impl Audit {
    async fn begin(ports: &Ports, options: &AuditOptions) -> Result<Self, CommandError> {
        let (mut examined, mut counts, mut total) = (Vec::new(), BTreeMap::new(), 0);
        for collection in Collection::all() {
            let rules = ports.rules.rules(collection);
            if rules.is_empty() {
                continue;
            }
            counts.extend(
                rules
                    .iter()
                    .map(|rule| (rule.code().to_owned(), Count::of(collection, rule.as_ref()))),
            );
            total += ports
                .items
                .totals(Scope { collection, parent: None }, &[])
                .await
                .map_err(ApplicationError::from)?
                .items;
            examined.push((collection, 0));
        }
        // A summary is one table alone.
        let format = if options.summary { AuditFormat::Text } else { options.output };
        let entries = Entries::new(format, ITEM)?;
        let meter = Meter::start(Some(total), BAR, "looking at items")?;
        Ok(Self { meter, is_summary: options.summary, examined, counts, entries })
    }

    async fn run(&mut self, ports: &Ports) -> Result<(), CommandError> {
        for index in 0..self.examined.len() {
            self.look_at(index, ports).await?;
        }
        Ok(())
    }

    async fn look_at(&mut self, index: usize, ports: &Ports) -> Result<(), CommandError> {
        let collection = self.examined[index].0;
        // Nothing is written, so nothing is limited.
        let limits = ResourceLimits { largest: usize::MAX, key_lifetime: SignedDuration::ZERO };
        let service = resource_use_cases(collection, ports, limits);
        let mut after: Option<SortPosition> = None;
        loop {
            let Audited { remarked, examined, applied, next } =
                service.audit(&WriteOptions::by(Caller::Anonymous), after).await?;
            for (id, verdict) in &remarked {
                self.tell(collection, *id, verdict)?;
            }
            for (rule, items) in applied {
                self.counts.entry(rule).and_modify(|count| count.applied += items);
            }
            self.examined[index].1 += examined;
            self.meter.bar().inc(examined);
            match next {
                Some(place) => after = Some(place),
                None => return Ok(()),
            }
        }
    }

    fn tell(
        &mut self,
        collection: Collection,
        id: ItemId,
        verdict: &Verdict,
    ) -> Result<(), CommandError> {
        let Verdict { errors, warnings } = verdict;
        for Violation { code, pointer, detail, .. } in errors.iter().chain(warnings.iter()) {
            let Some(count) = self.counts.get_mut(code.as_ref()) else { continue };
            count.remarked += 1;
            if self.is_summary {
                continue;
            }
            let (group, severity, how) =
                (collection.name(), count.severity.name(), count.looked_at_as());
            let (id, pointer) = (id.to_string(), pointer.to_string());
            let line = format!("{group}/{id}: {severity} {code} at {pointer:?}{how}: {detail}");
            let operation = count.operation.name();
            let values = [group, &id, code, severity, operation, &pointer, detail];
            self.entries.write(&line, values.map(Value::from).into())?;
        }
        Ok(())
    }

    /// Writes an entry for each rule.
    fn summarize(&self, format: AuditFormat) -> Result<(), CommandError> {
        let total: u64 = self.examined.iter().map(|(_, items)| items).sum();
        let mut entries = Entries::new(format, RULE)?;
        if format == AuditFormat::Text {
            let line = format!("looked at {total} items in {:.1} s", self.meter.seconds());
            entries.write(&line, Vec::new())?;
        }
        for (rule, count) in &self.counts {
            let Count { collection, severity, operation, applied, remarked } = count;
            let of_collection = self.examined.iter().find(|(of, _)| of == collection);
            let examined = of_collection.map_or(0, |(_, items)| *items);
            let (refused, warned, does) = match severity {
                Severity::Error => (*remarked, 0, "refuse"),
                Severity::Warning => (0, *remarked, "warn of"),
            };
            let line = format!(
                "  {rule} applies to {applied} of {examined}, would {does} {remarked}{}",
                count.looked_at_as()
            );
            let words = [rule, collection.name(), severity.name(), operation.name()];
            let numbers = [examined, *applied, refused, warned].map(Value::from);
            entries.write(&line, words.map(Value::from).into_iter().chain(numbers).collect())?;
        }
        entries.end()
    }
}
