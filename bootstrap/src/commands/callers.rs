//! `callers`: what is kept of callers beside the change log.

use crate::commands::error::CommandError;
use crate::commands::options::CallersCommand;
use crate::commands::{Wiring, print};
use jiff::tz::TimeZone;

/// Erases the name of a caller.
pub async fn run(command: CallersCommand, wiring: &Wiring) -> Result<(), CommandError> {
    let CallersCommand::Erase { id, database } = command;
    let now = (wiring.clock)(TimeZone::UTC).now();
    let was_known = (wiring.maintenance)(&database).erase_caller(&id, now).await?;
    let outcome = if was_known { "the name is erased" } else { "no name was kept" };
    print(&format!("{outcome}; none will be kept of {id} from now on\n"))
}
