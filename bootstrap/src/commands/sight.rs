//! `access list` and `policies diff`: the stored items and members that callers see.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use application::{Caller, ExplainedItem};
use domain::{Collection, Members, Operation, Principal};
use jiff::civil::Date;
use policies_adapter::PolicySet;
use serde_json::{Value, json};

use crate::commands::access::{load, load_caller};
use crate::commands::entries::Entries;
use crate::commands::error::Result;
use crate::commands::options::{
    AccessListOptions, CallerAccessOptions, EntryFormat, PolicyDiffOptions,
};
use crate::{close, look, open_rules, ports};

/// The id of a caller who created nothing.
const STRANGER: &str = "service:policies-diff";

pub async fn list(options: &AccessListOptions) -> Result<()> {
    let CallerAccessOptions { policies, caller, group, database, time_zone } = &options.access;
    let permissions = load(policies)?.permissions(&load_caller(caller)?, || time_zone.today());
    let mut entries = Entries::new(options.output, &["group", "id", "hidden"])?;
    let store = look(database).await?;
    let ports = ports(&store, open_rules(None)?, Arc::new(time_zone.clock()));
    let (mut seen, mut total) = (0, 0);
    let listed = ExplainedItem::for_each(&ports, *group, async |item| {
        total += 1;
        let Some(part) = item.seen_with(&permissions).await? else { return Ok(()) };
        seen += 1;
        let hidden = item.hidden_from(&part);
        let without = if hidden.is_empty() { "" } else { " without " };
        let (group, id) = (group.name(), item.item.id.to_string());
        let line = format!("{group}/{id}{without}{}", hidden.join(", "));
        entries.write(&line, &json!([group, id, hidden]))
    });
    let listed = listed.await;
    drop(ports);
    close(store).await;
    listed?;
    if options.output == EntryFormat::Plain {
        entries.write(&format!("the caller sees {seen} of {total} items"), &Value::Null)?;
    }
    entries.end()
}

/// Lists the items and members that a role sees under one of two sets of policies only.
pub async fn diff(options: &PolicyDiffOptions) -> Result<()> {
    let sets = [load(&options.old)?, load(&options.new)?];
    let callers = match &options.caller {
        Some(path) => {
            let caller = load_caller(path)?;
            vec![(caller.id().unwrap_or("anonymous").to_owned(), caller)]
        }
        None => callers_by_role(&sets),
    };
    let mut comparison = PolicyComparison {
        sets,
        callers,
        has_creators: options.caller.is_none(),
        today: options.time_zone.today(),
        entries: Entries::new(options.output, &["group", "id", "member", "caller", "change"])?,
        changes: 0,
    };
    let store = look(&options.database).await?;
    let ports = ports(&store, open_rules(None)?, Arc::new(options.time_zone.clock()));
    let compared = comparison.compare_all(&ports).await;
    drop(ports);
    close(store).await;
    let items = compared?;
    let PolicyComparison { mut entries, changes, .. } = comparison;
    if options.output == EntryFormat::Plain {
        let line = format!("compared {items} items: {changes} changes");
        entries.write(&line, &Value::Null)?;
    }
    entries.end()
}

/// Returns a caller without a role on items for each role of a token, after the callers without
/// roles.
fn callers_by_role(sets: &[PolicySet; 2]) -> Vec<(String, Caller)> {
    let roles: BTreeSet<_> = sets.iter().flat_map(PolicySet::token_roles).collect();
    let by_role = roles.into_iter().map(|role| (role, [role.into()].into()));
    let known = iter::once(("signed_in", Box::default())).chain(by_role);
    let known = known.map(|(name, roles)| (name.to_owned(), with_roles(STRANGER, roles)));
    iter::once(("anonymous".to_owned(), Caller::from(None))).chain(known).collect()
}

fn with_roles(id: &str, roles: Box<[Box<str>]>) -> Caller {
    let principal = Principal::with(id.into(), roles, &Members::default(), (None, None));
    Some(Arc::new(principal)).into()
}

struct PolicyComparison {
    /// The old and the new policies.
    sets: [PolicySet; 2],
    /// By the names in entries.
    callers: Vec<(String, Caller)>,
    /// True if each caller is also compared as the creator of the item.
    has_creators: bool,
    today: Date,
    entries: Entries,
    changes: u64,
}

/// A member, or the item by the empty text, and whether the new policies show it.
type SightChange = (String, bool);

impl PolicyComparison {
    async fn compare_all(&mut self, ports: &application::Ports) -> Result<u64> {
        let mut items = 0;
        for collection in Collection::all() {
            ExplainedItem::for_each(ports, collection, async |item| {
                items += 1;
                self.compare(item).await
            })
            .await?;
        }
        Ok(items)
    }

    async fn compare(&mut self, item: &ExplainedItem) -> Result<()> {
        for index in 0..self.callers.len() {
            let (name, caller) = &self.callers[index];
            let (name, changes) = (name.clone(), self.changes(item, caller).await?);
            let of_creator = match (caller.principal(), &item.item.created_by) {
                (Some(principal), Some(creator)) if self.has_creators => {
                    let caller = with_roles(creator, principal.roles.clone());
                    self.changes(item, &caller).await?
                }
                _ => Vec::new(),
            };
            let is_same = of_creator == changes;
            self.report(item, &name, changes)?;
            if !is_same {
                self.report(item, &format!("{name} who created it"), of_creator)?;
            }
        }
        Ok(())
    }

    async fn changes(&self, item: &ExplainedItem, caller: &Caller) -> Result<Vec<SightChange>> {
        let [old, new] = [0, 1].map(|set| self.sets[set].permissions(caller, || self.today));
        let of = item.collection;
        if old.on(of, Operation::Read) == new.on(of, Operation::Read)
            && old.visible(of) == new.visible(of)
        {
            return Ok(Vec::new());
        }
        Ok(match (item.seen_with(&old).await?, item.seen_with(&new).await?) {
            (None, None) => Vec::new(),
            (None, Some(_)) => vec![(String::new(), true)],
            (Some(_), None) => vec![(String::new(), false)],
            (Some(old), Some(new)) => {
                let shown = new.beyond(&old).into_iter().map(|member| (member, true));
                let hidden = old.beyond(&new).into_iter().map(|member| (member, false));
                shown.chain(hidden).collect()
            }
        })
    }

    fn report(
        &mut self,
        item: &ExplainedItem,
        caller: &str,
        changes: Vec<SightChange>,
    ) -> Result<()> {
        let (group, id) = (item.collection.name(), item.item.id.to_string());
        for (member, is_shown) in changes {
            let change = if is_shown { "shown" } else { "hidden" };
            let direction = if is_shown { "shown to" } else { "hidden from" };
            let space = if member.is_empty() { "" } else { " " };
            let line = format!("{group}/{id}{space}{member} is {direction} {caller}");
            self.entries.write(&line, &json!([group, id, member, caller, change]))?;
            self.changes += 1;
        }
        Ok(())
    }
}
