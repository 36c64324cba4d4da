//! The files that rules are in.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::RuleFileErrors;

pub(crate) const MOST_BYTES_OF_A_FILE: u64 = 1 << 20;
pub(crate) const MOST_BYTES: u64 = 16 << 20;
pub(crate) const MOST_FILES: usize = 1_000;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

pub(crate) struct RuleFile {
    /// Its name in messages.
    pub name: Arc<str>,
    pub bytes: Vec<u8>,
}

/// A fingerprint that distinguishes the content of files from any other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of files, by their names and contents, and of what could not be read of them.
    pub(crate) fn of(files: &[RuleFile], errors: &RuleFileErrors) -> Self {
        let mut hash = Sha256::new();
        for file in files {
            for part in [file.name.as_bytes(), &file.bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        hash.update(errors.to_string());
        Self(hash.finalize().into())
    }

    /// A number that is nearly as good, and never 0.
    pub(crate) fn number(self) -> u64 {
        self.0.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes)).max(1)
    }
}

/// Reads a file, or those of a folder that are rule files, in the order of their names. What cannot
/// be read is an error.
pub(crate) fn read(path: &Path) -> (Vec<RuleFile>, RuleFileErrors) {
    let (mut files, mut errors, mut size) = (Vec::new(), RuleFileErrors::default(), 0);
    let name = |path: &Path| path.display().to_string().into();
    let paths = paths(path).unwrap_or_else(|error| {
        errors.push(&name(path), None, format!("cannot be read: {error}"));
        Vec::new()
    });
    for path in paths {
        let name: Arc<str> = name(&path);
        match read_file(&path) {
            Ok(bytes) => {
                size += bytes.len() as u64;
                files.push(RuleFile { name: name.clone(), bytes });
            }
            Err(error) => errors.push(&name, None, format!("cannot be read: {error}")),
        }
        if size > MOST_BYTES {
            let reason =
                format!("the files up to this one are together larger than {MOST_BYTES} bytes");
            errors.push(&name, None, reason);
            break;
        }
    }
    (files, errors)
}

fn paths(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if is_rule_file(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    match paths.len() {
        // A folder that was not mounted, or is being filled, must not put every rule out of force.
        0 => Err(io::Error::other(
            "the folder has no rule files; their names end in .yaml, .yml or .json",
        )),
        count if count > MOST_FILES => Err(io::Error::other(format!(
            "the folder has {count} rule files; at most {MOST_FILES} are read"
        ))),
        _ => Ok(paths),
    }
}

/// Hidden files are not ours: editors and Kubernetes keep their own there. Links count as what they
/// lead to.
fn is_rule_file(path: &Path) -> bool {
    let is_hidden = path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    !is_hidden
        && extension.is_some_and(|extension| EXTENSIONS.contains(&&*extension))
        && !path.is_dir()
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES_OF_A_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES_OF_A_FILE {
        let reason = format!("it is larger than {MOST_BYTES_OF_A_FILE} bytes; split it");
        return Err(io::Error::other(reason));
    }
    Ok(bytes)
}
