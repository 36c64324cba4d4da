use application::Rule;
use jiff::civil::Date;
use language::expression::Variable;

use crate::file_rule::FileRule;

impl FileRule {
    pub fn summary(&self, today: Date) -> String {
        let about = self.about();
        let mut lines = vec![format!("{} ({}:{})", self.id, self.file, self.place.line)];
        lines.extend(about.description.map(|description| format!("  {}", description.trim())));
        let mut add = |name: &str, value: &str| lines.push(format!("  {name:<10} {value}"));
        let operations: Vec<_> = self.operations.iter().map(|operation| operation.name()).collect();
        add("judges", &format!("{} of {}", operations.join(", "), self.collection.name()));
        add("severity", self.severity.name());
        let not = if self.about().is_in_force(today) { "" } else { "not " };
        add("effective", &format!("{}, {not}in force today", self.effective));
        let pointer = about.pointer.filter(|pointer| !pointer.is_empty());
        add("field", pointer.unwrap_or("the item as a whole"));
        let lookups = self.variables.iter().enumerate();
        let variables = [("", Variable::After), (" of old", Variable::Before)]
            .map(|(of, variable)| (of.to_owned(), variable))
            .into_iter()
            .chain(
                lookups.map(|(index, (name, _))| (format!(" of {name}"), Variable::Lookup(index))),
            );
        let reads: Vec<_> = variables
            .map(|(of, variable)| (of, self.members_of(variable)))
            .filter(|(_, members)| !members.is_empty())
            .collect();
        if reads.is_empty() {
            add("reads", "no member by name");
        }
        for (of, members) in reads {
            add("reads", &format!("{}{of}", members.join(", ")));
        }
        for ((name, _), target) in self.variables.iter().zip(&self.targets) {
            add("looks up", &format!("{name}: {target}"));
        }
        if let Some(source) = about.source {
            add("source", source.trim());
        }
        lines.join("\n") + "\n"
    }
}
