//! Files of a path, from bytes to trees.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::{ErrorCollector, FileErrors};
use crate::yaml::{self, Advice, MOST_VALUES, Node};

const MOST_BYTES_OF_A_FILE: u64 = 1 << 20;
const MOST_BYTES: u64 = 16 << 20;
const MOST_FILES: usize = 1_000;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

pub struct FileSet {
    files: Vec<SourceFile>,
    pub errors: FileErrors,
}

struct SourceFile {
    name: Arc<str>,
    bytes: Vec<u8>,
}

pub type NamedTree = (Arc<str>, Arc<Node>);

impl FileSet {
    /// Reads a file, or the files of a folder with the extension `.yaml`, `.yml` or `.json`, sorted
    /// by name. Skips hidden files and subfolders. `kind` names the files in messages: "rule
    /// files".
    pub fn read(path: &Path, kind: &str) -> Self {
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
                    format!("the files up to this one have more than {MOST_BYTES} bytes in total");
                errors.push(&name, None, reason);
                break;
            }
        }
        Self { files, errors }
    }

    /// Returns a hash of names, contents and errors, never 0.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = Sha256::new();
        for file in &self.files {
            for part in [file.name.as_bytes(), &file.bytes] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
        }
        hash.update(self.errors.to_string());
        hash.finalize().first_chunk().map_or(1, |bytes| u64::from_le_bytes(*bytes)).max(1)
    }

    pub const fn count(&self) -> usize {
        self.files.len()
    }

    pub fn trees(&mut self, advice: &Advice) -> Vec<NamedTree> {
        let mut values_left = MOST_VALUES;
        let mut tree = |file: &SourceFile| {
            let mut errors = ErrorCollector::new(&file.name, &mut self.errors);
            match std::str::from_utf8(&file.bytes) {
                Ok(text) => yaml::parse(text, advice, &mut values_left, &mut errors),
                Err(error) => {
                    let valid = error.valid_up_to();
                    let reason = format!("is not UTF-8 from byte {valid} on; save it as UTF-8");
                    errors.add_to_file(reason);
                    None
                }
            }
        };
        let trees = self.files.iter().filter_map(|file| Some((file.name.clone(), tree(file)?)));
        trees.collect()
    }

    pub const fn errors_of<'a>(&'a mut self, file: &'a Arc<str>) -> ErrorCollector<'a> {
        ErrorCollector::new(file, &mut self.errors)
    }

    /// Finishes the reading. At least one list must be present: a truncated file must not count as
    /// an empty list, which is `[]`.
    pub fn finish(mut self, lists: &[&str], has_list: bool) -> Result<(), FileErrors> {
        if !has_list && self.errors.is_empty() {
            self.require_list(lists);
        }
        if self.errors.is_empty() { Ok(()) } else { Err(self.errors.sorted()) }
    }

    fn require_list(&mut self, lists: &[&str]) {
        let (Some(file), Some(last)) = (self.files.first(), lists.last()) else { return };
        let folder = Path::new(&*file.name).parent().map(|folder| folder.display().to_string());
        let name =
            folder.filter(|_| self.files.len() > 1).map_or_else(|| file.name.clone(), Into::into);
        let lists = lists.join("` or `");
        let reason =
            format!("there is no list `{lists}`; add it, or write `{last}: []` for an empty list");
        self.errors.push(&name, None, reason);
    }
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
        // An empty folder may be unmounted or incomplete. It must not remove all content from
        // force.
        0 => Err(io::Error::other(format!(
            "the folder has no {kind}; their names end in .yaml, .yml or .json"
        ))),
        count if count > MOST_FILES => Err(io::Error::other(format!(
            "the folder has {count} {kind}; at most {MOST_FILES} are read"
        ))),
        _ => Ok(paths),
    }
}

/// Skips hidden files: editors and Kubernetes store their own there. Follows links.
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
