//! The ids that files give to rules.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use domain::nearest;

use crate::file_rule::FileRule;

/// The rules by their ids, among them those that have errors, of which the id is all that is known.
#[derive(Default)]
pub(crate) struct KnownRules(HashMap<Box<str>, KnownRule>);

struct KnownRule {
    rule: Option<Arc<FileRule>>,
    /// Where it is, for people.
    at: String,
}

impl KnownRules {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes a rule in.
    ///
    /// # Errors
    /// Where the rule is that has the id already.
    pub fn insert(
        &mut self,
        id: Box<str>,
        rule: Option<Arc<FileRule>>,
        at: String,
    ) -> Result<(), &str> {
        match self.0.entry(id) {
            Entry::Occupied(taken) => Err(&taken.into_mut().at),
            Entry::Vacant(free) => {
                free.insert(KnownRule { rule, at });
                Ok(())
            }
        }
    }

    /// The rule of an id; `None` when it has errors.
    ///
    /// # Errors
    /// That there is none, and which may be meant.
    pub fn named(&self, id: &str) -> Result<Option<Arc<FileRule>>, String> {
        if let Some(known) = self.0.get(id) {
            return Ok(known.rule.clone());
        }
        let guess = nearest(id, self.0.keys().map(|id| &**id))
            .map(|guess| format!("; did you mean `{guess}`?"));
        Err(format!("there is no rule `{id}` in the files{}", guess.unwrap_or_default()))
    }
}
