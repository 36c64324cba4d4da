//! The content of an item: its facts are written like members, its bytes before.

use std::sync::Arc;

use domain::{Content, ContentDigest, Operation, Version};
use jiff::Timestamp;

use super::validate::{Edit, stored_members};
use super::{ResourceService, Written};
use crate::ports::PastVersion;
use crate::query::View;
use crate::{
    ApplicationError, Caller, ItemAddress, ItemWrite, Precondition, Result, Upload, WriteOptions,
};

/// A write of content.
#[derive(Clone, Copy, Debug)]
pub struct ContentWrite<'a> {
    pub options: &'a WriteOptions,
    pub item: ItemAddress,
    pub precondition: &'a Precondition<ContentDigest>,
}

impl<'a> ContentWrite<'a> {
    /// The version of the item is no condition.
    const fn of_item(&self, options: &'a WriteOptions) -> ItemWrite<'a> {
        ItemWrite { options, item: self.item, precondition: &Precondition::NONE }
    }
}

/// Type and name of the bytes, as the client sent them.
#[derive(Clone, Debug)]
pub struct ContentDescription {
    pub media_type: Box<str>,
    pub filename: Option<Box<str>>,
}

impl ResourceService {
    /// Reports the errors of a write that do not depend on the bytes, before these arrive.
    pub async fn require_content_write(
        &self,
        write: &ContentWrite<'_>,
        expected: Option<u64>,
    ) -> Result<()> {
        let shown = self.current(&write.of_item(write.options), Operation::Patch).await?;
        let caller = &write.options.caller;
        let mut decision = self.decision();
        let visible = self.visible_members(caller, &shown.item, &mut decision).await?;
        if let Some(size) = expected {
            let members = stored_members(&shown.item)?;
            self.require_content_space(&shown.item, &members, size, &mut decision).await?;
        }
        let removal = Edit::Content(None, write.precondition);
        match removal.changes_content(&shown.item, visible.as_ref()) {
            Ok(_) | Err(ApplicationError::NoContent) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Gives the bytes of an upload to an item. Returns true if it had no content before.
    pub async fn attach(
        &self,
        write: &ContentWrite<'_>,
        ContentDescription { media_type, filename }: ContentDescription,
        upload: Upload,
    ) -> Result<(Written, bool)> {
        let (size, digest, stored_at) = (upload.size(), upload.digest(), self.ports.clock.now());
        let content = Content { media_type, filename, size, digest, stored_at };
        let edit = Edit::Content(Some(&content), write.precondition);
        // A refused upload leaves nothing, so it is refused before its bytes are kept.
        let trial = WriteOptions { is_dry_run: true, ..write.options.clone() };
        let mut written = self.change_from(&write.of_item(&trial), edit, None).await;
        if written.is_err() || write.options.is_dry_run {
            upload.abandon().await;
        } else {
            upload.finish().await?;
            written = self.change_from(&write.of_item(write.options), edit, None).await;
        }
        written.map(|(written, had_content)| (written, !had_content))
    }

    /// Removes the content of an item. Its versions keep theirs.
    pub async fn detach(&self, write: &ContentWrite<'_>) -> Result<Written> {
        let edit = Edit::Content(None, write.precondition);
        self.change(&write.of_item(write.options), edit, None).await
    }

    /// Returns the facts about the current content.
    pub async fn content(&self, caller: &Caller, item: ItemAddress) -> Result<Content> {
        let (shown, _) = self.get(caller, item, &View::default()).await?;
        facts(&shown.item.members)
    }

    pub async fn content_at(
        &self,
        caller: &Caller,
        item: ItemAddress,
        time: Timestamp,
    ) -> Result<Content> {
        let (PastVersion { change, .. }, item) = self.get_at(caller, item, time, None).await?;
        if let Some(removed_at) = change.removed_at {
            return Err(ApplicationError::BodyRemoved { version: item.version, removed_at });
        }
        facts(&item.members)
    }

    pub async fn content_of_version(
        &self,
        caller: &Caller,
        item: ItemAddress,
        version: Version,
    ) -> Result<Content> {
        facts(&self.version(caller, item, version).await?.1.members)
    }
}

fn facts(members: &Arc<str>) -> Result<Content> {
    Content::of(members).ok_or(ApplicationError::NoContent)
}
