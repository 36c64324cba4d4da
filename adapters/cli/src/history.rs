//! `history`: the history that a store holds, by which entity tags and cursors are told from those of
//! other stores.

use crate::error::CommandError;
use crate::options::HistoryCommand;
use crate::{Wiring, print};

/// Gives a copy of a store a history of its own.
pub async fn run(command: HistoryCommand, wiring: &Wiring) -> Result<(), CommandError> {
    let HistoryCommand::Renew { database } = command;
    (wiring.maintenance)(&database).renew_history().await?;
    print(
        "the store has a new history; entity tags and cursors of the old one match nothing in it\n",
    )
}
