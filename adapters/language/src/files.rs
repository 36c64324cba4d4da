//! The files of a path.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::{ErrorCollector, FileErrors};

const MOST_BYTES_OF_A_FILE: u64 = 1 << 20;
const MOST_BYTES: u64 = 16 << 20;
const MOST_FILES: usize = 1_000;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// A file that was read.
pub struct SourceFile {
    /// Its name in messages.
    pub name: Arc<str>,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// The content as text, unless it is none.
    pub fn text(&self, errors: &mut ErrorCollector<'_>) -> Option<&str> {
        std::str::from_utf8(&self.bytes)
            .map_err(|error| {
                errors.add_to_file(format!(
                    "is not UTF-8 from byte {} on; save it as UTF-8",
                    error.valid_up_to()
                ));
            })
            .ok()
    }
}

/// Adds an error if no file has one of the lists. A truncated file must not count as an empty list, which
/// is written `[]`.
pub fn require_list(lists: &[&str], is_there: bool, files: &[SourceFile], errors: &mut FileErrors) {
    let (Some(file), Some(last)) = (files.first(), lists.last()) else { return };
    if is_there || !errors.is_empty() {
        return;
    }
    let folder = Path::new(&*file.name).parent().map(|folder| folder.display().to_string());
    let name = folder.filter(|_| files.len() > 1).map_or_else(|| file.name.clone(), Into::into);
    let lists = lists.join("` or `");
    let reason =
        format!("there is no list `{lists}`; add it, or write `{last}: []` for an empty list");
    errors.push(&name, None, reason);
}

/// A fingerprint that distinguishes the content of files from any other content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// That of files, by their names and contents, and of what could not be read of them.
    #[must_use]
    pub fn of(files: &[SourceFile], errors: &FileErrors) -> Self {
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
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes)).max(1)
    }
}

/// Reads a file, or those files of a folder whose names end in `.yaml`, `.yml` or `.json`, in the
/// order of their names. Hidden files and folders within are left out. What cannot be read is an
/// error, whose message calls the files by their kind: "rule files".
#[must_use]
pub fn read(path: &Path, kind: &str) -> (Vec<SourceFile>, FileErrors) {
    let (mut files, mut errors, mut size) = (Vec::new(), FileErrors::default(), 0);
    let name = |path: &Path| path.display().to_string().into();
    let paths = paths(path, kind).unwrap_or_else(|error| {
        errors.push(&name(path), None, format!("cannot be read: {error}"));
        Vec::new()
    });
    for path in paths {
        let name: Arc<str> = name(&path);
        match read_file(&path) {
            Ok(bytes) => {
                size += bytes.len() as u64;
                files.push(SourceFile { name: name.clone(), bytes });
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

fn paths(path: &Path, kind: &str) -> io::Result<Vec<PathBuf>> {
    if !std::fs::metadata(path)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if is_ours(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    match paths.len() {
        // A folder that was not mounted, or is being filled, must not put everything out of force.
        0 => Err(io::Error::other(format!(
            "the folder has no {kind}; their names end in .yaml, .yml or .json"
        ))),
        count if count > MOST_FILES => Err(io::Error::other(format!(
            "the folder has {count} {kind}; at most {MOST_FILES} are read"
        ))),
        _ => Ok(paths),
    }
}

/// Hidden files are not ours: editors and Kubernetes keep their own there. Links count as what they
/// lead to.
fn is_ours(path: &Path) -> bool {
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
