//! `callers`: what is kept of callers beside the change log.

use application::Clock as _;
use system_adapter::SystemClock;

use crate::commands::error::CommandError;
use crate::commands::options::CallersCommand;
use crate::commands::print;
use crate::store_options;

/// Erases the name of a caller.
pub async fn run(command: CallersCommand) -> Result<(), CommandError> {
    let CallersCommand::Erase { id, database } = command;
    let now = SystemClock::default().now();
    let was_known = store_options(&database).erase_caller(&id, now).await?;
    let outcome = if was_known { "the name is erased" } else { "no name was kept" };
    print(&format!("{outcome}; none will be kept of {id} from now on\n"))
}
