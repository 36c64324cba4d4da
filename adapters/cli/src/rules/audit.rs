//! `proposal-service rules audit`: what rules would say of what is stored, before they are put in
//! force.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufWriter, Write};

use application::query::Place;
use application::{
    ApplicationError, Audited, Caller, Ports, ResourceLimits, Scope, WriteOptions,
    audited_operation, resource_use_cases,
};
use domain::{Collection, ItemId, Members, Rule, Severity, Verdict, Violation, WriteOperation};
use jiff::SignedDuration;

use crate::error::CommandError;
use crate::options::AuditOptions;
use crate::progress::Meter;
use crate::signals::Signals;
use crate::{Opened, Wiring};

const BAR: &str =
    "{bar:32} {percent:>3} %  item {human_pos} of {human_len}, {rate} a second, {eta} left";

/// Looks at every item that the rules in a file are about, and says which they would refuse or warn
/// of.
pub async fn audit(options: &AuditOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let mut signals = Signals::listen()?;
    let Opened { ports, store } = (wiring.open_to_audit)(options).await?;
    let mut audit = Audit::begin(&ports).await?;
    let outcome = tokio::select! {
        outcome = audit.run(&ports) => outcome,
        signal = signals.next() => Err(CommandError::Stopped(signal)),
    };
    audit.meter.end();
    outcome?;
    let summary = audit.summary();
    drop(ports);
    crate::close(store).await;
    crate::print(&summary)
}

/// What was found so far.
struct Audit {
    meter: Meter,
    collections: Vec<Collection>,
    examined: u64,
    /// By rule, of how many items it has something to say.
    counts: BTreeMap<String, Count>,
    out: BufWriter<io::Stdout>,
}

/// What is known of a rule, and how often it had something to say.
struct Count {
    severity: Severity,
    /// What the items were looked at as, where that is not a replacement: an item may break a rule
    /// about creates and be sound.
    looked_at_as: String,
    items: u64,
}

impl Count {
    fn of(rule: &dyn Rule<Members>) -> Self {
        let operation =
            audited_operation(rule).filter(|operation| *operation != WriteOperation::Replace);
        let looked_at_as =
            operation.map(|operation| format!(", as a {}", operation.name())).unwrap_or_default();
        Self { severity: rule.severity(), looked_at_as, items: 0 }
    }
}

impl Audit {
    async fn begin(ports: &Ports) -> Result<Self, CommandError> {
        let (mut collections, mut counts, mut total) = (Vec::new(), BTreeMap::new(), 0);
        for collection in Collection::all() {
            let rules = ports.rules.rules(collection);
            if rules.is_empty() {
                continue;
            }
            counts.extend(
                rules.iter().map(|rule| (rule.code().to_owned(), Count::of(rule.as_ref()))),
            );
            total += ports
                .items
                .totals(Scope { collection, parent: None }, &[])
                .await
                .map_err(ApplicationError::from)?
                .items;
            collections.push(collection);
        }
        Ok(Self {
            meter: Meter::start(Some(total), BAR),
            collections,
            examined: 0,
            counts,
            out: BufWriter::new(io::stdout()),
        })
    }

    async fn run(&mut self, ports: &Ports) -> Result<(), CommandError> {
        for collection in self.collections.clone() {
            self.look_at(collection, ports).await?;
        }
        self.out.flush().map_err(CommandError::Output)
    }

    async fn look_at(&mut self, collection: Collection, ports: &Ports) -> Result<(), CommandError> {
        // Nothing is written, so nothing is limited.
        let limits = ResourceLimits { largest: usize::MAX, key_lifetime: SignedDuration::ZERO };
        let service = resource_use_cases(collection, ports, limits);
        let mut after: Option<Place> = None;
        loop {
            let Audited { remarked, examined, next } =
                service.audit(&WriteOptions::by(Caller::Anonymous), after).await?;
            for (id, verdict) in &remarked {
                self.tell(collection, *id, verdict)?;
            }
            self.examined += examined;
            self.meter.bar().set_position(self.examined);
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
        for (severity, said) in
            [(Severity::Error, &verdict.errors), (Severity::Warning, &verdict.warnings)]
        {
            for Violation { code, pointer, detail, .. } in said.iter() {
                let Some(count) = self.counts.get_mut(code.as_ref()) else { continue };
                count.items += 1;
                let (name, severity, how) =
                    (collection.name(), severity.name(), &count.looked_at_as);
                writeln!(
                    self.out,
                    "{name}/{id}: {severity} {code} at {:?}{how}: {detail}",
                    pointer.to_string()
                )
                .map_err(CommandError::Output)?;
            }
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let mut out =
            format!("looked at {} items in {:.1} s\n", self.examined, self.meter.seconds());
        for (rule, Count { severity, looked_at_as, items }) in &self.counts {
            let does = match severity {
                Severity::Error => "would refuse",
                Severity::Warning => "would warn of",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(out, "  {rule} {does} {items}{looked_at_as}");
        }
        out
    }
}
