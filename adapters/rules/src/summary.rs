//! What `rules check` tells of a rule.

use std::fmt;

use domain::{Collection, Rule};

use crate::file_rule::FileRule;
use crate::lookup_target::LookupBy;

/// What there is to say of a rule. It displays as a paragraph of some lines.
#[derive(Debug)]
pub struct RuleSummary<'a> {
    /// The rule.
    pub rule: &'a FileRule,
    /// Whether it is in force on the day asked for.
    pub is_in_force: bool,
    /// The top-level members of the item that it reads.
    pub members_read: Vec<&'a str>,
    /// What it looks up.
    pub lookups: Vec<LookupSummary<'a>>,
}

/// What there is to say of a lookup.
#[derive(Debug)]
pub struct LookupSummary<'a> {
    /// Its variable.
    pub name: &'a str,
    /// Where it looks.
    pub collection: Collection,
    /// By what, and how costly that is.
    pub by: &'a LookupBy,
}

impl RuleSummary<'_> {
    /// The members it reads that items of its collection never have: in a proposal, what is no
    /// field. Such a member is always absent, and likely a misspelling.
    #[must_use]
    pub fn unknown_members(&self) -> Vec<&str> {
        if self.rule.collection() != Collection::known("proposals") {
            return Vec::new();
        }
        let fields = domain::proposal::FIELDS;
        self.members_read
            .iter()
            .copied()
            .filter(|name| *name != "id" && fields.iter().all(|field| field.name != *name))
            .collect()
    }

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
        writeln!(
            formatter,
            "  reads      {}",
            if self.members_read.is_empty() {
                "nothing by name".to_owned()
            } else {
                self.members_read.join(", ")
            }
        )?;
        for name in self.unknown_members() {
            writeln!(
                formatter,
                "             a proposal has no field `{name}`: it is always absent"
            )?;
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
