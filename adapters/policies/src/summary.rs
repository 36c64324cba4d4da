use domain::{Collection, Operation};
use jiff::civil::Date;

use crate::policy::Policy;

impl Policy {
    pub fn summary(&self, today: Date, class: &str) -> String {
        let operations: Vec<_> = self.shown.operations.iter().map(Operation::name).collect();
        let groups: Vec<_> = self.shown.collections.iter().copied().map(Collection::name).collect();
        let (may, and) = if self.shown.denies { ("may not", "or") } else { ("may", "and") };
        let conditions = [("if", &self.shown.when), ("so that", &self.shown.change)];
        let conditions = conditions.map(|(word, condition)| {
            let condition = condition.as_deref().map(|text| text.split_whitespace());
            condition.map_or_else(String::new, |words| {
                format!(", {word} `{}`", words.collect::<Vec<_>>().join(" "))
            })
        });
        let own = conditions.concat();
        let days = match (self.effective.is_always(), self.effective.contains(today)) {
            (true, _) => String::new(),
            (false, true) => format!(", {}", self.effective),
            (false, false) => format!(", {}, not in force today", self.effective),
        };
        format!(
            "{} ({}:{}): {} {may} {} items of {}{own}{days} [{class}].",
            self.shown.id,
            self.file,
            self.place.line,
            self.audience(),
            listed(&operations, and),
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
