//! `access check`: permissions of a caller by policies in files.

use std::fmt::Write as _;
use std::iter;
use std::path::Path;
use std::sync::Arc;

use application::{
    Caller, ConcerningPolicy, DeletableItems, ExplainedItem, Permissions, Ports, undeletable_below,
};
use domain::{Collection, ItemId, Operation};
use jiff::civil::Date;
use policies_adapter::PolicySet;

use crate::commands::error::{CommandError, Result};
use crate::commands::options::{AccessCheckOptions, CallerAccessOptions};
use crate::{close, failed, look, open_rules, ports};

struct AccessQuestion {
    policies: PolicySet,
    caller: Caller,
    collection: Collection,
    operation: Operation,
    today: Date,
}

/// Prints the decision and the deciding policies. Fails if no operation is permitted.
pub async fn check(options: &AccessCheckOptions) -> Result<()> {
    let AccessCheckOptions { operation, item, access } = options;
    let CallerAccessOptions { policies, caller, group, database, time_zone } = access;
    let question = AccessQuestion {
        policies: load(policies)?,
        caller: load_caller(caller)?,
        collection: *group,
        operation: *operation,
        today: time_zone.today(),
    };
    let (said, is_permitted) = match item {
        None => question.on_all(),
        Some(id) => {
            let id = ItemId::parse(id).ok_or_else(|| no_item(group.name(), id))?;
            let store = look(database).await?;
            let ports = ports(&store, open_rules(None)?, Arc::new(time_zone.clock()));
            let answer = question.on_item(&ports, id).await;
            close(store).await;
            answer?
        }
    };
    crate::commands::print(&said)?;
    if is_permitted { Ok(()) } else { Err(failed("denied")) }
}

pub fn load(path: &Path) -> Result<PolicySet> {
    PolicySet::load(path).map_err(failed)
}

pub fn load_caller(path: &Path) -> Result<Caller> {
    policies_adapter::read_caller(path).map_err(failed)
}

fn no_item(group: &str, id: &str) -> CommandError {
    failed(format!("the database has no item {id} in `{group}`"))
}

impl AccessQuestion {
    fn permissions(&self) -> Permissions {
        self.policies.permissions(&self.caller, || self.today)
    }

    fn concerning(&self, collection: Collection) -> Vec<ConcerningPolicy> {
        let of = (collection, self.operation);
        self.policies.concerning(&self.caller, self.today, of)
    }

    /// Returns the collections of the items that a deletion cascades to.
    fn deleted_with_it(&self) -> impl Iterator<Item = Collection> {
        self.collection.children().filter(|_| self.operation == Operation::Delete)
    }

    fn on_all(&self) -> (String, bool) {
        let permissions = self.permissions();
        let mut said = String::new();
        for collection in iter::once(self.collection).chain(self.deleted_with_it()) {
            let extent = match (
                permissions.has_all(collection, self.operation),
                permissions.has_some(collection, self.operation),
            ) {
                (true, _) => "allowed on all items",
                (false, true) => "depends on the item; name one with --item",
                (false, false) => "denied on all items",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(said, "{}: {extent}", collection.name());
            for policy in self.concerning(collection) {
                let word = if policy.denies { "denies" } else { "allows" };
                let of = match policy.items.constant() {
                    Some(true) => "all items",
                    Some(false) => "no items",
                    None => "some items",
                };
                let _ = writeln!(said, "  {} {word} {of}", policy.id);
            }
        }
        let mut concerned = iter::once(self.collection).chain(self.deleted_with_it());
        (said, concerned.all(|collection| permissions.has_some(collection, self.operation)))
    }

    /// Returns the values that the condition of a policy sees.
    async fn values(&self, id: &str, item: &ExplainedItem) -> Result<Vec<String>> {
        let explained = self.policies.explain(id, &item.item, &self.caller, self.today);
        let Some(condition) = explained else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        while let Some(lookup) = condition.next_lookup(&found) {
            found.push(item.look_up(&lookup).await?);
        }
        Ok(condition.values(&found))
    }

    async fn on_item(&self, ports: &Ports, id: ItemId) -> Result<(String, bool)> {
        let item = ExplainedItem::find(ports, self.collection, id).await?;
        let item = item.ok_or_else(|| no_item(self.collection.name(), &id.to_string()))?;
        let permissions = self.permissions();
        let permitted = item.judge(permissions.on(self.collection, self.operation)).await?;
        let mut is_permitted = permitted == Some(true);
        let mut said = format!("{}\n", if is_permitted { "allowed" } else { "denied" });
        if let Some(seen) = item.seen_with(&permissions).await? {
            for member in item.hidden_from(&seen) {
                // Writing to a String cannot fail.
                let _ = writeln!(said, "  {member} is hidden");
            }
        }
        let published = self.policies.published();
        for policy in self.concerning(self.collection) {
            let word = if policy.denies { "denies" } else { "allows" };
            let applies = match item.judge(&policy.items).await? {
                Some(true) => "applies",
                Some(false) => "does not apply",
                None => "cannot be decided",
            };
            let to = published.iter().find(|it| it.id == policy.id);
            let to = to.map(|policy| policy.to.join("`, `")).unwrap_or_default();
            let _ = writeln!(said, "  {} {word} `{to}`: {applies}", policy.id);
            for value in self.values(&policy.id, &item).await? {
                let _ = writeln!(said, "    {value}");
            }
        }
        if is_permitted && self.operation == Operation::Delete {
            let deletable = DeletableItems::below(self.collection, &permissions);
            if let Some(below) = undeletable_below(&*ports.items, id, &deletable).await? {
                is_permitted = false;
                said = format!(
                    "denied: an item of `{}` that is deleted with it may not be deleted\n",
                    below.name()
                );
            }
        }
        Ok((said, is_permitted))
    }
}
