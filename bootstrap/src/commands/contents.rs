//! The folder for contents of `serve`.

use std::sync::Arc;

use application::{ContentService, IdGenerator as _, Ports};
use contents_adapter::{Folder, keep_sweeping};
use language::Watches;
use storage_adapter::Store;
use system_adapter::UuidV7Generator;

use super::{CommandError, ServeOptions};
use crate::{failed, store_options};

/// The free space that an upload leaves on the disk, in bytes: an SQLite file may be on the same.
const RESERVE: u64 = 256 << 20;

/// Adds the folder for contents, if there is one, after a check that it is that of the store.
pub async fn with_contents(
    ports: Ports,
    options: &ServeOptions,
    store: &Store,
    watches: &mut Watches,
) -> Result<Ports, CommandError> {
    let next_to_file = || store_options(&options.database).contents_folder();
    let Some(path) = options.contents.clone().or_else(next_to_file) else { return Ok(ports) };
    let folder = Folder::open(&path, RESERVE).map_err(failed)?;
    let (named, has_bytes) = store.content_store().await.map_err(failed)?;
    let new_id = UuidV7Generator.next_id().to_string();
    let id = folder.claim(named.as_deref(), has_bytes, &new_id).map_err(failed)?;
    store.set_content_store(&id).await.map_err(failed)?;
    // Another instance may have named its own folder meanwhile.
    let (named, has_bytes) = store.content_store().await.map_err(failed)?;
    folder.claim(named.as_deref(), has_bytes, &id).map_err(failed)?;
    let ports = Ports { contents: Some(Arc::new(folder)), ..ports };
    watches.tasks.spawn(keep_sweeping(ContentService::new(&ports)));
    Ok(ports)
}
