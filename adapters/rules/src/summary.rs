//! The summary of a rule that `rules check` shows.

use std::fmt;

use domain::{Collection, Rule};
use jiff::civil::Date;

use crate::expression::Variable;
use crate::file_rule::FileRule;
use crate::lookup_target::LookupBy;

/// The summary of a rule. It displays as a paragraph of several lines.
#[derive(Debug)]
pub struct RuleSummary<'a> {
    /// The rule.
    pub rule: &'a FileRule,
    /// True when the rule is in force on the requested day.
    pub is_in_force: bool,
    /// The top-level members that it reads of the item and, under their names, of `old` and of what
    /// it looks up.
    pub members_read: Vec<(&'a str, Vec<&'a str>)>,
    /// The lookups of the rule.
    pub lookups: Vec<LookupSummary<'a>>,
}

/// The summary of a lookup.
#[derive(Debug)]
pub struct LookupSummary<'a> {
    /// Its variable.
    pub name: &'a str,
    /// Where it looks.
    pub collection: Collection,
    /// By what, and how costly that is.
    pub by: &'a LookupBy,
}

impl FileRule {
    /// Returns the summary of the rule, which tells whether it is in force on `today`.
    #[must_use]
    pub fn summary(&self, today: Date) -> RuleSummary<'_> {
        let lookups = self.variables.iter().zip(&self.targets);
        let lookup_reads =
            self.variables.iter().enumerate().map(|(index, (name, _))| {
                (name.as_str(), self.members_of(Variable::Lookup(index)))
            });
        let own_reads = [("self", Variable::After), ("old", Variable::Before)]
            .map(|(name, variable)| (name, self.members_of(variable)));
        let reads = own_reads.into_iter().chain(lookup_reads);
        RuleSummary {
            rule: self,
            is_in_force: self.is_in_force(today),
            members_read: reads.filter(|(_, members)| !members.is_empty()).collect(),
            lookups: lookups
                .map(|((name, _), target)| LookupSummary {
                    name,
                    collection: target.collection,
                    by: &target.by,
                })
                .collect(),
        }
    }
}

impl RuleSummary<'_> {
    fn effective(&self) -> String {
        match self.rule.about().effective {
            (None, None) => "always".to_owned(),
            (Some(from), None) => format!("from {from}"),
            (None, Some(until)) => format!("until {until}"),
            (Some(from), Some(until)) => format!("from {from} until {until}"),
        }
    }
}

impl fmt::Display for RuleSummary<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rule, about) = (self.rule, self.rule.about());
        let operations: Vec<_> =
            rule.operations().iter().map(|operation| operation.name()).collect();
        writeln!(formatter, "{} ({}:{})", rule.id(), rule.file(), rule.place().line)?;
        if let Some(description) = about.description {
            writeln!(formatter, "  {}", description.trim())?;
        }
        writeln!(
            formatter,
            "  judges     {} of {}",
            operations.join(", "),
            rule.collection().name()
        )?;
        writeln!(formatter, "  severity   {}", rule.severity().name())?;
        let in_force = if self.is_in_force { "in force today" } else { "not in force today" };
        writeln!(formatter, "  effective  {}, {in_force}", self.effective())?;
        writeln!(
            formatter,
            "  field      {}",
            about.pointer.filter(|pointer| !pointer.is_empty()).unwrap_or("the item as a whole")
        )?;
        if self.members_read.is_empty() {
            writeln!(formatter, "  reads      nothing by name")?;
        }
        for (variable, members) in &self.members_read {
            let of = if *variable == "self" { String::new() } else { format!(" of {variable}") };
            writeln!(formatter, "  reads      {}{of}", members.join(", "))?;
        }
        for lookup in &self.lookups {
            writeln!(
                formatter,
                "  looks up   {}: {} {}",
                lookup.name,
                lookup.collection.name(),
                lookup.by
            )?;
        }
        if let Some(source) = about.source {
            writeln!(formatter, "  source     {}", source.trim())?;
        }
        Ok(())
    }
}
