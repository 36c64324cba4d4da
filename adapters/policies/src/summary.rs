use domain::{Collection, Operation};
use jiff::civil::Date;

use crate::policy::Policy;

impl Policy {
    pub fn summary(&self, today: Date) -> String {
        let operations: Vec<_> = self.shown.operations.iter().map(Operation::name).collect();
        let groups: Vec<_> = self.shown.collections.iter().copied().map(Collection::name).collect();
        let may = if self.shown.denies { "may not" } else { "may" };
        let own = if self.shown.is_about_own { " that they created" } else { "" };
        let days = match (self.effective.is_always(), self.effective.contains(today)) {
            (true, _) => String::new(),
            (false, true) => format!(", {}", self.effective),
            (false, false) => format!(", {}, not in force today", self.effective),
        };
        format!(
            "{} ({}:{}): {} {may} {} items of {}{own}{days}.",
            self.shown.id,
            self.file,
            self.place.line,
            self.audience(),
            listed(&operations, "and"),
            listed(&groups, "and"),
        )
    }

    fn audience(&self) -> String {
        if self.is_for_anyone() {
            return "Anyone".to_owned();
        }
        if self.is_for_signed_in() {
            return "Every known caller".to_owned();
        }
        let roles: Vec<_> = self.roles().map(|role| format!("`{role}`")).collect();
        format!("Callers with the role {}", listed(&roles, "or"))
    }
}

/// Joins words: "a, b and c".
pub(crate) fn listed<T: AsRef<str>>(words: &[T], conjunction: &str) -> String {
    let words: Vec<_> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => {
            format!("{} {conjunction} {last}", before.join(", "))
        }
        _ => words.concat(),
    }
}
