//! `history renew`: a new history id for a copied store.

use crate::commands::error::CommandError;
use crate::commands::options::HistoryCommand;
use crate::commands::print;
use crate::store_options;

/// Entity tags and cursors of the original store do not match in the copy afterwards.
pub fn run(command: HistoryCommand) -> Result<(), CommandError> {
    let HistoryCommand::Renew { database } = command;
    store_options(&database).renew_history()?;
    print(
        "the store has a new history; entity tags and cursors of the old one match nothing in it\n",
    )
}
