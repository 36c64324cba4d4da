//! `migrate`, `history renew` and `callers erase`: changes to a whole store.

use application::Clock as _;
use storage_adapter::{MigrationStep, Store, StoreError};
use system_adapter::SystemClock;

use crate::commands::options::{DatabaseOptions, MigrateOptions, MigratePhase};
use crate::commands::{Result, print};
use crate::{close, connect, store_options};

pub async fn migrate(options: &MigrateOptions) -> Result<()> {
    if options.plan {
        let steps = store_options(&options.database).migration_plan().await?;
        let lines: Vec<_> = steps.iter().map(line).collect();
        return print(&if lines.is_empty() {
            "no migrations remain\n".to_owned()
        } else {
            lines.concat()
        });
    }
    let store = connect(&options.database).await?;
    let migrated = migrate_phase(&store, options.phase).await;
    close(store).await;
    Ok(migrated?)
}

async fn migrate_phase(store: &Store, phase: MigratePhase) -> Result<(), StoreError> {
    match phase {
        MigratePhase::Expand => {
            store.migrate().await?;
            store.fill_in().await?;
            tracing::info!("the database schema is up to date");
        }
        MigratePhase::Contract => match store.contract().await? {
            0 => tracing::info!("no contract steps remain"),
            migrations => tracing::info!(migrations, "the database schema is contracted"),
        },
    }
    Ok(())
}

/// Renews the history of a copy: entity tags and cursors of the original become invalid.
pub fn renew_history(database: &DatabaseOptions) -> Result<()> {
    store_options(database).renew_history()?;
    print(
        "the store has a new history; entity tags and cursors of the old history are no longer valid\n",
    )
}

pub async fn erase_caller(id: &str, database: &DatabaseOptions) -> Result<()> {
    let now = SystemClock::default().now();
    let was_known = store_options(database).erase_caller(id, now).await?;
    let outcome = if was_known { "the name is erased" } else { "no name was stored" };
    print(&format!("{outcome}; no name of {id} will be stored from now on\n"))
}

fn line(MigrationStep { migration, phase, action, lock, seconds }: &MigrationStep) -> String {
    let time = seconds.map_or_else(String::new, |seconds| format!("; about {} s", seconds.max(1)));
    format!("{phase:<8}  {migration}  {action}  [lock: {lock}{time}]\n")
}
