//! `history renew`: a new history id for a copied store.

use crate::commands::error::CommandError;
use crate::commands::options::HistoryCommand;
use crate::commands::{Wiring, print};

/// Entity tags and cursors of the original store do not match in the copy afterwards.
pub async fn run(command: HistoryCommand, wiring: &Wiring) -> Result<(), CommandError> {
    let HistoryCommand::Renew { database } = command;
    (wiring.maintenance)(&database).renew_history().await?;
    print(
        "the store has a new history; entity tags and cursors of the old one match nothing in it\n",
    )
}
