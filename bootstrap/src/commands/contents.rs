//! The place for contents of `serve`, and the commands `contents`.

use std::path::Path;
use std::sync::Arc;

use application::{ContentId, ContentService, IdGenerator as _, Ports};
use contents_adapter::{ContentMetrics, Location, keep_sweeping, keep_verifying};
use language::Watches;
use storage_adapter::Store;
use system_adapter::{SystemClock, UuidV7Generator};
use uuid::Uuid;

use super::options::{ContentsCommand, ContentsOptions, ContentsPlace};
use super::{CommandError, DatabaseOptions, Result, ServeOptions, print};
use crate::monitoring::Monitoring;
use crate::{close, connect, failed, look, ports, store_options};

/// The free space that an upload leaves on the disk, in bytes: an SQLite file may be on the same.
const RESERVE: u64 = 256 << 20;

/// Adds the place for contents, if there is one, after a check that it is that of the store.
pub async fn with_contents(
    ports: Ports,
    options: &ServeOptions,
    store: &Store,
    monitoring: &Monitoring,
    watches: &mut Watches,
) -> Result<Ports> {
    let Some(name) = named(&options.contents, &options.database) else { return Ok(ports) };
    let location = Location::open(&name, &options.temp_dir, RESERVE).map_err(failed)?;
    let (named, has_bytes) = store.content_store().await.map_err(failed)?;
    let named = if let Some(named) = named {
        named
    } else {
        let id = location.id().await.map_err(failed)?;
        let id = id.unwrap_or_else(|| UuidV7Generator.next_id().to_string());
        store.set_content_store(&id).await.map_err(failed)?;
        // Another instance may have named its own meanwhile.
        store.content_store().await.map_err(failed)?.0.unwrap_or(id)
    };
    location.claim(&named, has_bytes).await.map_err(failed)?;
    let ports = Ports { contents: Some(location.store()), ..ports };
    let contents = ContentService::new(&ports);
    let metrics = ContentMetrics::default();
    if let Some(registry) = monitoring.registry() {
        metrics.register(&mut registry.lock(), location.disk().is_some());
    }
    watches.tasks.spawn(keep_sweeping(contents.clone(), location, metrics));
    watches.tasks.spawn(keep_verifying(contents, Arc::clone(&ports.clock), options.content_verify));
    Ok(ports)
}

pub async fn run(command: ContentsCommand) -> Result<()> {
    let options = match &command {
        ContentsCommand::Verify(options) | ContentsCommand::Register(options) => options,
        ContentsCommand::Sweep { contents, .. } => contents,
    };
    let store = match command {
        ContentsCommand::Register(_) => connect(&options.database).await?,
        _ => look(&options.database).await?,
    };
    let done = async {
        let contents = service(options, &store).await?;
        match command {
            ContentsCommand::Verify(_) => verify(&contents, &store).await,
            ContentsCommand::Sweep { remove, .. } => sweep(&contents, remove).await,
            ContentsCommand::Register(_) => register(&contents, &store).await,
        }
    };
    let done = done.await;
    close(store).await;
    done
}

/// The name of the place, or of that next to an SQLite file.
fn named(place: &ContentsPlace, database: &DatabaseOptions) -> Option<String> {
    place.contents.clone().or_else(|| store_options(database).contents_folder())
}

async fn service(options: &ContentsOptions, store: &Store) -> Result<ContentService> {
    let name = named(&options.contents, &options.database).ok_or_else(|| {
        CommandError::Usage("name the folder or bucket with --contents".to_owned())
    })?;
    let location = Location::existing(&name, &std::env::temp_dir()).map_err(failed)?;
    let location = location.ok_or_else(|| {
        failed(format!(
            "the folder {name} for contents does not exist; name another with --contents"
        ))
    })?;
    if let (Some(named), has_bytes) = store.content_store().await.map_err(failed)? {
        location.claim(&named, has_bytes).await.map_err(failed)?;
    }
    let ports = ports(store, Arc::default(), Arc::new(SystemClock::default()));
    Ok(ContentService::new(&Ports { contents: Some(location.store()), ..ports }))
}

/// Copies the contents in a folder to `FILE.contents`. Must run after the copy of the database, which
/// then names no bytes that are missing.
pub fn back_up_contents(
    place: &ContentsPlace,
    database: &DatabaseOptions,
    file: &Path,
) -> Result<()> {
    let Some(name) = named(place, database) else { return Ok(()) };
    let location = Location::existing(&name, &std::env::temp_dir()).map_err(failed)?;
    let Some(location) = location else {
        tracing::info!(folder = name, "there are no contents to back up");
        return Ok(());
    };
    let mut to = file.as_os_str().to_owned();
    to.push(".contents");
    print(&match location.back_up(Path::new(&to)).map_err(failed)? {
        Some(count) => format!("contents backed up to {}: {count}\n", Path::new(&to).display()),
        None => "the contents in the bucket are not part of the backup\n".to_owned(),
    })
}

async fn register(contents: &ContentService, store: &Store) -> Result<()> {
    let digests = store.content_digests().await.map_err(failed)?;
    let mut adopted = 0;
    for last_byte in 0..=u8::MAX {
        let is_of_item = |digest| digests.contains(&digest);
        adopted += contents.adopt(last_byte, is_of_item).await.map_err(failed)?;
    }
    print(&format!("contents registered: {adopted}; named by versions: {}\n", digests.len()))
}

async fn verify(contents: &ContentService, store: &Store) -> Result<()> {
    let (mut after, mut verified, mut bytes, mut damaged) = (Uuid::nil(), 0_u64, 0, 0_u64);
    loop {
        let page = contents.kept_after(ContentId(after)).await.map_err(failed)?;
        let Some(last) = page.last() else { break };
        after = last.id.0;
        for content in page {
            let damage = contents.verify(content, async |_| ()).await.map_err(failed)?;
            verified += 1;
            bytes += content.size;
            if let Some(damage) = damage {
                damaged += 1;
                let (name, digest) = (content.id.0, content.digest);
                print(&format!("{}: {name}, sha256 {digest}\n", damage.name()))?;
                for version in store.versions_with_content(digest).await.map_err(failed)? {
                    print(&format!("  {version}\n"))?;
                }
            }
        }
    }
    print(&format!("contents verified: {verified}, with {bytes} bytes; damaged: {damaged}\n"))?;
    if damaged == 0 { Ok(()) } else { Err(failed("restore the damaged contents from a backup")) }
}

async fn sweep(contents: &ContentService, remove: bool) -> Result<()> {
    let mut found = 0_u64;
    for last_byte in 0..=u8::MAX {
        for id in contents.strays(last_byte).await.map_err(failed)? {
            found += 1;
            print(&format!("{}\n", id.0))?;
            if remove {
                contents.remove_stray(id).await.map_err(failed)?;
            }
        }
    }
    let outcome = if remove { "removed" } else { "found; --remove removes them" };
    print(&format!("{found} files or objects that the database does not know {outcome}\n"))
}
