//! `access check`: permissions of a caller by policies in files.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use application::{
    Access, Caller, Ownership, Ports, UndeletableItems, ownership_of, undeletable_below,
};
use domain::{Collection, ItemId, Operation};
use jiff::civil::Date;
use policies_adapter::PolicySet;

use crate::commands::error::CommandError;
use crate::commands::options::AccessCheckOptions;
use crate::{close, failed, look, open_rules, ports};

struct AccessQuestion {
    policies: PolicySet,
    caller: Caller,
    collection: Collection,
    operation: Operation,
    today: Date,
}

/// Prints the decision and the deciding policies. Fails if no operation is permitted.
pub async fn check(options: &AccessCheckOptions) -> Result<(), CommandError> {
    let question = AccessQuestion {
        policies: load(&options.policies)?,
        caller: policies_adapter::read_caller(&options.caller).map_err(failed)?,
        collection: options.group,
        operation: options.operation,
        today: options.time_zone.today(),
    };
    let (said, is_permitted) = match &options.item {
        None => question.on_all(),
        Some(id) => {
            let id = ItemId::parse(id).ok_or_else(|| no_item(options.group.name(), id))?;
            let store = look(&options.database).await?;
            let ports = ports(&store, open_rules(None)?, Arc::new(options.time_zone.clock()));
            let answer = question.on_item(&ports, id).await;
            close(store).await;
            answer?
        }
    };
    crate::commands::print(&said)?;
    if is_permitted { Ok(()) } else { Err(failed("denied")) }
}

pub fn load(path: &Path) -> Result<PolicySet, CommandError> {
    PolicySet::load(path).map_err(failed)
}

fn no_item(group: &str, id: &str) -> CommandError {
    failed(format!("the database has no item {id} in `{group}`"))
}

impl AccessQuestion {
    fn access(&self, collection: Collection) -> Access {
        self.policies.access(&self.caller, collection, || self.today)
    }

    fn permits(&self, collection: Collection, ownership: Ownership) -> bool {
        self.access(collection).on(ownership).contains(self.operation)
    }

    fn decision(&self, collection: Collection, ownership: Ownership) -> String {
        let word = if self.permits(collection, ownership) { "allowed" } else { "denied" };
        let Self { policies, caller, operation, today, .. } = self;
        let ids = policies.deciding(*today, caller, (collection, *operation), &[ownership]);
        match ids.join(", ") {
            ids if ids.is_empty() => format!("{word}: no policy allows it"),
            ids => format!("{word} by {ids}"),
        }
    }

    /// Returns the collections of the items that a deletion cascades to.
    fn deleted_with_it(&self) -> impl Iterator<Item = Collection> {
        self.collection.children().filter(|_| self.operation == Operation::Delete)
    }

    fn denied_below(&self) -> Option<String> {
        let denied =
            self.deleted_with_it().find(|child| !self.access(*child).has_some(self.operation))?;
        Some(self.decision_below(denied, Ownership::Others))
    }

    fn decision_below(&self, collection: Collection, ownership: Ownership) -> String {
        let decision = self.decision(collection, ownership);
        format!("{decision}, for items of `{}` that are deleted with it", collection.name())
    }

    fn on_all(&self) -> (String, bool) {
        let mut said = String::new();
        self.describe(self.collection, "", &mut said);
        if !self.access(self.collection).has_some(self.operation) {
            return (said, false);
        }
        if let Some(denied) = self.denied_below() {
            return (format!("{denied}\n"), false);
        }
        for child in self.deleted_with_it() {
            if !self.access(child).has_all(self.operation) {
                let which = format!(" of `{}` that are deleted with it", child.name());
                self.describe(child, &which, &mut said);
            }
        }
        (said, true)
    }

    fn describe(&self, collection: Collection, which: &str, said: &mut String) {
        let [own, others] = Ownership::ALL.map(|ownership| self.decision(collection, ownership));
        // Writing to a String cannot fail.
        let _ = if own == others {
            writeln!(said, "{own}")
        } else {
            writeln!(
                said,
                "items{which} that the caller created: {own}\nother items{which}: {others}"
            )
        };
    }

    async fn on_item(&self, ports: &Ports, id: ItemId) -> Result<(String, bool), CommandError> {
        let found = ownership_of(ports, &self.caller, self.collection, id).await?;
        let ownership = found.ok_or_else(|| no_item(self.collection.name(), &id.to_string()))?;
        let decision = self.decision(self.collection, ownership);
        if !self.permits(self.collection, ownership) {
            return Ok((decision + "\n", false));
        }
        let mut denied = self.denied_below();
        if denied.is_none() && self.operation == Operation::Delete {
            let undeletable =
                UndeletableItems::below(self.collection, &self.caller, |child| self.access(child));
            denied = undeletable_below(&*ports.items, id, &undeletable)
                .await?
                .map(|found| self.decision_below(found.collection, found.ownership));
        }
        let is_permitted = denied.is_none();
        Ok((denied.unwrap_or(decision) + "\n", is_permitted))
    }
}
