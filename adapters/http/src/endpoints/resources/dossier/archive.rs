//! An archive as a virtual file: texts in memory or a temporary file, and contents in their store.

use std::fs::File;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::{io, mem, slice};

use application::KeptContent;
use domain::ContentDigest;
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;

use crate::endpoints::resources::download::Piece;
use crate::endpoints::resources::texts::Texts;
use crate::problem::{Problem, Result, kinds};
use crate::zip_layout::{Entry, Layout};

pub const MOST_ENTRIES: usize = 50_000;

/// Of the texts, in bytes.
const MOST_TEXT: u64 = 64 << 20;

/// In bytes. More texts are in a temporary file, because a slow client would hold the memory.
const IN_MEMORY: usize = 512 << 10;

pub struct Archive {
    pub texts: Texts,
    pieces: Vec<Piece>,
    /// In bytes.
    pub size: u64,
    /// The SHA-256 digest of the manifest and the central directory, which determine all bytes.
    pub tag: ContentDigest,
}

impl Archive {
    /// Returns the pieces of a part.
    pub fn pieces(&self, part: &Range<u64>) -> Vec<Piece> {
        let (mut pieces, mut start) = (Vec::new(), 0);
        for piece in &self.pieces {
            let end = start + piece.length();
            if start < part.end && part.start < end {
                let from = part.start.saturating_sub(start);
                pieces.push(piece.part(from..part.end.min(end) - start));
            }
            start = end;
        }
        pieces
    }

    /// Returns the contents in these parts, or in all of the archive.
    pub fn contents(&self, parts: Option<&[Range<u64>]>) -> Vec<KeptContent> {
        let all = 0..self.size;
        let parts = parts.unwrap_or(slice::from_ref(&all));
        let pieces = parts.iter().flat_map(|part| self.pieces(part));
        let content = |piece| if let Piece::Content(kept, _) = piece { Some(kept) } else { None };
        pieces.filter_map(content).collect()
    }
}

/// Takes one text at a time. The header of a text is written after it, when its length is known.
#[derive(Default)]
pub struct Builder {
    /// Of the temporary file.
    folder: PathBuf,
    layout: Layout,
    manifest: String,
    entries: usize,
    /// Texts that are not in the file yet.
    text: Vec<u8>,
    file: Option<File>,
    pieces: Vec<Piece>,
    spooled: u64,
    /// Of the text that is written now, in bytes.
    length: u64,
    crc32: crc32fast::Hasher,
    digest: Sha256,
}

impl Builder {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, ..Self::default() }
    }

    /// Writes more of a text.
    pub async fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.length += bytes.len() as u64;
        self.crc32.update(bytes);
        self.digest.update(bytes);
        self.spool(bytes);
        if self.spooled > MOST_TEXT {
            return Err(too_large());
        }
        self.spill(IN_MEMORY).await
    }

    /// Adds the text that was written.
    pub fn add_text(&mut self, name: &str, time: Timestamp) -> Result<()> {
        let size = mem::take(&mut self.length);
        let part = self.spooled - size..self.spooled;
        let crc32 = mem::take(&mut self.crc32).finalize();
        let digest = ContentDigest::new(mem::take(&mut self.digest).finalize().into());
        self.begin(&Entry { name, size, crc32, time }, digest)?;
        self.pieces.push(Piece::Spooled(part));
        Ok(())
    }

    pub async fn add_content(
        &mut self,
        name: &str,
        time: Timestamp,
        kept: KeptContent,
    ) -> Result<()> {
        let KeptContent { size, crc32, digest, .. } = kept;
        self.begin(&Entry { name, size, crc32, time }, digest)?;
        if size > 0 {
            self.pieces.push(Piece::Content(kept, 0..size));
        }
        self.spill(IN_MEMORY).await
    }

    /// Adds the manifest and ends the archive.
    pub async fn finish(mut self, time: Timestamp) -> Result<Archive> {
        let manifest = mem::take(&mut self.manifest);
        self.write(manifest.as_bytes()).await?;
        self.add_text("manifest-sha256.txt", time)?;
        let directory = mem::take(&mut self.layout).finish();
        let tag = Sha256::new_with_prefix(&manifest).chain_update(&directory).finalize();
        self.push(&directory);
        if self.file.is_some() {
            self.spill(0).await?;
        }
        let size = self.pieces.iter().map(Piece::length).sum();
        let texts = match self.file {
            Some(file) => Texts::File(Arc::new(file)),
            None => Texts::Memory(self.text.into()),
        };
        Ok(Archive { texts, pieces: self.pieces, size, tag: ContentDigest::new(tag.into()) })
    }

    fn begin(&mut self, entry: &Entry<'_>, digest: ContentDigest) -> Result<()> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(too_large());
        }
        // The format of sha256sum.
        self.manifest.extend([&*digest.to_string(), "  ", entry.name, "\n"]);
        let header = self.layout.add(entry);
        self.push(&header);
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        let start = self.spooled;
        self.spool(bytes);
        self.pieces.push(Piece::Spooled(start..self.spooled));
    }

    fn spool(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        self.spooled += bytes.len() as u64;
    }

    /// Moves the texts to the file if they are longer than this, in bytes.
    async fn spill(&mut self, most: usize) -> Result<()> {
        if self.text.len() <= most {
            return Ok(());
        }
        let (file, text) = (self.file.take(), mem::take(&mut self.text));
        let folder = self.folder.clone();
        let write = move || {
            let mut file = file.map_or_else(|| tempfile::tempfile_in(folder), Ok)?;
            io::Write::write_all(&mut file, &text).map(|()| file)
        };
        let written = spawn_blocking(write).await.map_err(io::Error::other).flatten();
        self.file = Some(written.map_err(|error| {
            tracing::error!(%error, "a temporary file cannot be written");
            Problem::unavailable("The archive could not be prepared.")
        })?);
        Ok(())
    }
}

pub fn too_large() -> Problem {
    let detail = format!(
        "A dossier has at most {MOST_ENTRIES} files, and {} MiB of members. Read the groups page by page instead.",
        MOST_TEXT >> 20
    );
    Problem::new(&kinds::DOES_NOT_FIT, detail)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Builder, MOST_ENTRIES, MOST_TEXT, too_large};

    fn builder() -> Builder {
        Builder::new(std::env::temp_dir())
    }

    #[tokio::test]
    async fn an_archive_has_limits() {
        let time = Timestamp::UNIX_EPOCH;
        let mut entries = builder();
        for number in 0..MOST_ENTRIES {
            entries.add_text(&number.to_string(), time).unwrap();
        }
        let refused = entries.add_text("x", time).unwrap_err();
        assert_eq!(refused.to_string(), too_large().to_string());

        let (mut long, part) = (builder(), vec![0; 1 << 20]);
        for _ in 0..MOST_TEXT >> 20 {
            long.write(&part).await.unwrap();
        }
        let refused = long.write(b"x").await.unwrap_err();
        assert_eq!(refused.to_string(), too_large().to_string());
    }
}
