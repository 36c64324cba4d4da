//! The care of contents: the removal of bytes that no item has, and their verification.

use domain::ContentDigest;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::ContentService;
use crate::ports::{
    ContentDamage, ContentError, ContentId, ContentResult, ContentTotals, KeptContent,
};

const AT_A_TIME: u64 = 100;

/// The age in hours from which bytes that the register does not know are strays. Younger ones may be
/// of an upload to a database that was copied meanwhile.
const STRAY_AGE: i64 = 24;

/// The time after which damaged bytes are verified again, because they may have been restored.
const DAMAGED_AGAIN: SignedDuration = SignedDuration::from_mins(10);

impl ContentService {
    pub async fn totals(&self) -> ContentResult<ContentTotals> {
        Ok(self.register.totals().await?)
    }

    /// Removes bytes that no item has. Returns the number of names.
    pub async fn sweep(&self) -> ContentResult<u64> {
        self.register.doom_expired(self.clock.now()).await?;
        let mut removed = 0;
        loop {
            let doomed = self.register.doomed(AT_A_TIME).await?;
            let mut outcome = Ok(());
            for (id, place) in &doomed {
                // One that cannot be removed does not keep the others.
                match self.store()?.remove(*id, place.as_deref()).await {
                    Ok(()) => self.register.forget(*id).await?,
                    Err(error) => outcome = Err(error),
                }
                removed += 1;
            }
            outcome?;
            if (doomed.len() as u64) < AT_A_TIME {
                return Ok(removed);
            }
        }
    }

    /// Reads the bytes that have not been verified since `before`, those verified longest ago first,
    /// and records damage. Two instances never verify the same. `None` if all are verified.
    pub async fn verify_next(
        &self,
        before: Timestamp,
        after_piece: impl AsyncFnMut(usize),
    ) -> ContentResult<Option<(KeptContent, Option<ContentDamage>)>> {
        let now = self.clock.now();
        let damaged_before = now - DAMAGED_AGAIN;
        let next = self.register.claim_verification(before, damaged_before, now).await?;
        let Some(content) = next else { return Ok(None) };
        let damage = self.verify(content, after_piece).await?;
        if damage.is_some() || content.is_damaged {
            self.register.record_damage(content.id, damage).await?;
        }
        Ok(Some((content, damage)))
    }

    /// Returns the kept bytes of items under the next names.
    pub async fn kept_after(&self, id: ContentId) -> ContentResult<Vec<KeptContent>> {
        Ok(self.register.kept_after(id, AT_A_TIME).await?)
    }

    /// Compares bytes with their digest. Waits for `after_piece`, which gets a number of bytes.
    pub async fn verify(
        &self,
        content: KeptContent,
        mut after_piece: impl AsyncFnMut(usize),
    ) -> ContentResult<Option<ContentDamage>> {
        let mut reader = match self.store()?.open(content.id, 0..content.size).await {
            Err(ContentError::Missing) => return Ok(Some(ContentDamage::Missing)),
            Err(ContentError::Corrupted) => return Ok(Some(ContentDamage::Truncated)),
            opened => opened?,
        };
        let mut sha256 = Sha256::new();
        loop {
            match reader.next().await {
                Ok(Some(piece)) => {
                    sha256.update(&piece);
                    after_piece(piece.len()).await;
                }
                Ok(None) => break,
                Err(ContentError::Corrupted) => return Ok(Some(ContentDamage::Truncated)),
                Err(error) => return Err(error),
            }
        }
        let is_same = ContentDigest::new(sha256.finalize().into()) == content.digest;
        Ok((!is_same).then_some(ContentDamage::Corrupted))
    }

    /// Lists some of the bytes that the register does not know, as after the database was restored
    /// from a backup: those under names that end with a byte.
    pub async fn strays(&self, last_byte: u8) -> ContentResult<Vec<ContentId>> {
        let mut strays = Vec::new();
        let now = self.clock.now();
        for (id, _) in self.store()?.names(last_byte).await? {
            let age = named_at(id.0).map(|time| now.duration_since(time));
            if age.is_none_or(|age| age.as_hours() >= STRAY_AGE) && !self.register.knows(id).await?
            {
                strays.push(id);
            }
        }
        Ok(strays)
    }

    /// Registers bytes that the register does not know and that items have, as after the import of a
    /// history: those under names that end with a byte. Returns their number.
    pub async fn adopt(
        &self,
        last_byte: u8,
        is_of_item: impl Fn(ContentDigest) -> bool,
    ) -> ContentResult<u64> {
        let mut adopted = 0;
        for (id, size) in self.store()?.names(last_byte).await? {
            if self.register.knows(id).await? {
                continue;
            }
            let mut reader = self.store()?.open(id, 0..size).await?;
            let (mut sha256, mut crc32) = (Sha256::new(), crc32fast::Hasher::new());
            while let Some(piece) = reader.next().await? {
                sha256.update(&piece);
                crc32.update(&piece);
            }
            let digest = ContentDigest::new(sha256.finalize().into());
            if is_of_item(digest) {
                let crc32 = crc32.finalize();
                let content = KeptContent { id, digest, size, crc32, is_damaged: false };
                self.register.adopt(content, self.clock.now()).await?;
                adopted += 1;
            }
        }
        Ok(adopted)
    }

    /// Removes bytes that the register does not know.
    pub async fn remove_stray(&self, id: ContentId) -> ContentResult<()> {
        self.store()?.remove(id, None).await
    }
}

/// The time of a name (UUID version 7).
fn named_at(name: Uuid) -> Option<Timestamp> {
    let (seconds, nanoseconds) = name.get_timestamp()?.to_unix();
    Timestamp::new(seconds.try_into().ok()?, nanoseconds.try_into().ok()?).ok()
}
