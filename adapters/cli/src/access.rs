//! `access check`: what policies in files let a caller do.

use std::fmt::Write as _;

use application::{Caller, Ownership, PolicyFiles, ownership_of};
use domain::{Collection, ItemId, Operation};
use jiff::civil::Date;

use crate::error::CommandError;
use crate::options::AccessCheckOptions;
use crate::{Wiring, close};

/// A caller who wants to do something, and the policies that decide.
struct Question {
    policies: Box<dyn PolicyFiles>,
    caller: Caller,
    collection: Collection,
    operation: Operation,
    today: Date,
}

/// Prints the decision and the policies that decided. Fails where nothing is permitted.
pub async fn check(options: &AccessCheckOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let unknown = |name: &str| CommandError::Usage(format!("there is no `{name}`; see --help"));
    let clock = (wiring.clock)(options.time_zone.zone.clone());
    let question = Question {
        policies: (wiring.policies)(&options.policies)?,
        caller: (wiring.caller)(&options.caller)?,
        collection: Collection::named(&options.group).ok_or_else(|| unknown(&options.group))?,
        operation: Operation::named(&options.operation)
            .ok_or_else(|| unknown(&options.operation))?,
        today: clock.day_of(clock.now()),
    };
    let (said, is_permitted) = match &options.item {
        None => question.on_all(),
        Some(id) => {
            let id = ItemId::parse(id).ok_or_else(|| no_item(&options.group, id))?;
            let ownership = question.ownership(options, wiring, id).await?;
            (format!("{}\n", question.decision(ownership)), question.permits(ownership))
        }
    };
    crate::print(&said)?;
    if is_permitted { Ok(()) } else { Err(CommandError::Denied) }
}

fn no_item(group: &str, id: &str) -> CommandError {
    CommandError::Failed(format!("the database has no item {id} in `{group}`"))
}

impl Question {
    fn permits(&self, ownership: Ownership) -> bool {
        let access = self.policies.access_on(self.today, &self.caller, self.collection);
        access.on(ownership).contains(self.operation)
    }

    fn decision(&self, ownership: Ownership) -> String {
        let word = if self.permits(ownership) { "allowed" } else { "denied" };
        let Self { policies, caller, collection, operation, today } = self;
        let ids = policies.deciding_on(*today, caller, *collection, *operation, ownership);
        match ids.join(", ") {
            ids if ids.is_empty() => format!("{word}: no policy allows it"),
            ids => format!("{word} by {ids}"),
        }
    }

    /// The decisions on all items of the group.
    fn on_all(&self) -> (String, bool) {
        let (own, others) = (self.decision(Ownership::Own), self.decision(Ownership::Others));
        let mut said = String::new();
        // Writing to a String cannot fail.
        let _ = if own == others {
            writeln!(said, "{own}")
        } else {
            writeln!(said, "items that the caller created: {own}\nother items: {others}")
        };
        (said, Ownership::ALL.into_iter().any(|ownership| self.permits(ownership)))
    }

    async fn ownership(
        &self,
        options: &AccessCheckOptions,
        wiring: &Wiring,
        id: ItemId,
    ) -> Result<Ownership, CommandError> {
        let zone = options.time_zone.zone.clone();
        let opened = (wiring.open_to_look)(&options.database, None, zone).await?;
        let found = ownership_of(&opened.ports, &self.caller, self.collection, id).await;
        close(opened.store).await;
        found?.ok_or_else(|| no_item(&options.group, &id.to_string()))
    }
}
