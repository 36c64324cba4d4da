//! `access check`: what policies in files let a caller do.

use std::fmt::Write as _;

use application::Ownership;
use domain::{Collection, Operation};

use crate::Wiring;
use crate::error::CommandError;
use crate::options::AccessCheckOptions;

/// Prints the decision and the policies that decided. Fails where nothing is permitted.
pub fn check(options: &AccessCheckOptions, wiring: &Wiring) -> Result<(), CommandError> {
    let unknown = |name: &str| CommandError::Usage(format!("there is no `{name}`; see --help"));
    let collection = Collection::named(&options.group).ok_or_else(|| unknown(&options.group))?;
    let operation =
        Operation::named(&options.operation).ok_or_else(|| unknown(&options.operation))?;
    let policies = (wiring.policies)(&options.policies)?;
    let caller = (wiring.caller)(&options.caller)?;
    let clock = (wiring.clock)(options.time_zone.zone.clone());
    let today = clock.day_of(clock.now());
    let access = policies.access_on(today, &caller, collection);
    let decision = |ownership: Ownership| {
        let word = if access.on(ownership).contains(operation) { "allowed" } else { "denied" };
        let ids = policies.deciding_on(today, &caller, collection, operation, ownership);
        match ids.join(", ") {
            ids if ids.is_empty() => format!("{word}: no policy allows it"),
            ids => format!("{word} by {ids}"),
        }
    };
    let (own, others) = (decision(Ownership::Own), decision(Ownership::Others));
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = if own == others {
        writeln!(out, "{own}")
    } else {
        writeln!(out, "items that the caller created: {own}\nother items: {others}")
    };
    crate::print(&out)?;
    if access.has_some(operation) { Ok(()) } else { Err(CommandError::Denied) }
}
