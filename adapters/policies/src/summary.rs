use domain::{Collection, Operation};
use jiff::civil::Date;

use crate::policy::Policy;

impl Policy {
    pub fn summary(&self, today: Date, class: &str) -> String {
        let operations: Vec<_> = self.shown.operations.iter().map(Operation::name).collect();
        let [hide, show, write] = [&self.hide, &self.show, &self.write].map(|list| {
            let names =
                list.as_ref().map(|list| list.written.iter().map(|name| format!("`{name}`")));
            names.map(|names| listed(&names.collect::<Vec<_>>(), "and"))
        });
        let groups: Vec<_> = self.shown.collections.iter().copied().map(Collection::name).collect();
        let (may, and) = if self.shown.denies { ("may not", "or") } else { ("may", "and") };
        let conditions = [("if", &self.shown.when), ("so that", &self.shown.change)];
        let conditions = conditions.map(|(word, condition)| {
            let condition = condition.as_deref().map(|text| text.split_whitespace());
            condition.map_or_else(String::new, |words| {
                format!(", {word} `{}`", words.collect::<Vec<_>>().join(" "))
            })
        });
        let only = [("see", show), ("write", write)];
        let only = only.map(|(verb, names)| {
            names.map_or_else(String::new, |names| format!(", but {verb} only {names}"))
        });
        let own = only.concat() + &conditions.concat();
        let does = match hide {
            Some(names) => format!("do not see {names} of"),
            None => format!("{may} {}", listed(&operations, and)),
        };
        let days = match (self.effective.is_always(), self.effective.contains(today)) {
            (true, _) => String::new(),
            (false, true) => format!(", {}", self.effective),
            (false, false) => format!(", {}, not in force today", self.effective),
        };
        format!(
            "{} ({}:{}): {} {does} items of {}{own}{days} [{class}].",
            self.shown.id,
            self.file,
            self.place.line,
            self.audience(),
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
