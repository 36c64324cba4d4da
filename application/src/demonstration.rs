use bytes::Bytes;
use domain::{Collection, Content, ItemId, Members};

use crate::ports::{NewItem, Ports, Reach, Scope, Warrant, WriteMetadata};
use crate::{ApplicationError, Caller, ContentService, Result};

#[derive(Clone, Debug)]
pub struct DemonstrationItem {
    pub collection: Collection,
    pub parent: Option<ItemId>,
    pub id: ItemId,
    pub members: Members,
}

/// Stores the demonstration data in an empty store. A restart keeps the items of the first start.
/// `Invalid` is a bug.
pub async fn load_demonstration(ports: &Ports, items: Vec<DemonstrationItem>) -> Result<()> {
    for collection in Collection::all() {
        let totals = ports.items.totals(&Reach::of_the_service(Scope::of(collection)), &[]).await?;
        if totals.items > 0 {
            tracing::info!("the store is not empty; no demonstration items were loaded");
            return Ok(());
        }
    }
    let content = example_content(ports).await?;
    for DemonstrationItem { collection, parent, id, members } in items {
        let members = collection.judge(None, members).map_err(ApplicationError::Invalid)?;
        let content = content.as_ref().filter(|_| collection.spec().holds_content);
        let members = Content::replaced(&members, content);
        let item = NewItem {
            id,
            references: collection.references_in(members.encoded()),
            members: members.into_encoded(),
            continues: None,
        };
        let warrant = Warrant::of_the_service(&Caller::service("demo"), None);
        let metadata = WriteMetadata::under(warrant, ports.clock.now());
        ports.items.insert(Scope { collection, parent }, item, metadata).await?;
    }
    tracing::info!("loaded the demonstration items");
    Ok(())
}

/// Stores a small text; `None` without a place for contents.
async fn example_content(ports: &Ports) -> Result<Option<Content>> {
    const TEXT: &[u8] = b"An example of a document.\n";
    if ports.contents.is_none() {
        return Ok(None);
    }
    let mut upload = ContentService::new(ports).begin(Some(TEXT.len() as u64)).await?;
    let text = upload.hash(Bytes::from_static(TEXT));
    upload.append(text).await?;
    let (size, digest) = (upload.size(), upload.digest());
    upload.finish().await?;
    Ok(Some(Content {
        media_type: "text/plain; charset=utf-8".into(),
        filename: Some("example.txt".into()),
        size,
        digest,
        stored_at: ports.clock.now(),
    }))
}
