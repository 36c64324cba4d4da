//! `migrate`: changes the schema, or says what would be changed.

use storage_adapter::MigrationStep;

use crate::commands::options::{MigrateOptions, MigratePhase};
use crate::commands::{CommandError, print};
use crate::store_options;

pub async fn run(options: &MigrateOptions) -> Result<(), CommandError> {
    let store = store_options(&options.database);
    if options.plan {
        let steps = store.migration_plan().await?;
        let lines: Vec<_> = steps.iter().map(line).collect();
        return print(&if lines.is_empty() {
            "nothing is left to migrate\n".to_owned()
        } else {
            lines.concat()
        });
    }
    match options.phase {
        MigratePhase::Expand => {
            store.migrate().await?;
            tracing::info!("the database is prepared");
        }
        MigratePhase::Contract => match store.contract().await? {
            0 => tracing::info!("nothing is left to contract"),
            migrations => tracing::info!(migrations, "the schema is contracted"),
        },
    }
    Ok(())
}

fn line(MigrationStep { migration, phase, action, lock, seconds }: &MigrationStep) -> String {
    let time = seconds.map_or_else(String::new, |seconds| format!("; about {} s", seconds.max(1)));
    format!("{phase:<8}  {migration}  {action}  [lock: {lock}{time}]\n")
}
