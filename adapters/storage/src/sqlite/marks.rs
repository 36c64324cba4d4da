//! Marks that show when another file was copied over an SQLite file. SQLite does not notice that:
//! it would mix pages of the new file with those of its write-ahead log, and copy the log into the
//! new file. So the header of the file has a random mark (`user_version`). A new one is written at
//! each start and before the log is copied into the file, so an earlier copy has another one. A
//! backup gets a separate mark. The mark is read before and after each use of the file: one read of
//! four bytes. While the file is served, `FILE-mark` has the same marks: after a restart it shows
//! whether the log belongs to the file.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use parking_lot::Mutex;

/// The place of the mark in the file (<https://sqlite.org/fileformat.html>).
const PLACE: u64 = 60;

pub(crate) struct Marks {
    found: AtomicI32,
    /// That mark, and later ones, which may still be in the write-ahead log.
    possible: Mutex<Vec<i32>>,
    are_lost: AtomicBool,
    /// True if the file has a mark that the process before did not write.
    pub were_foreign: bool,
}

impl Marks {
    /// Reads the marks before the file is opened. Moves away a write-ahead log of another file.
    pub fn of(path: &Path, file: &File) -> io::Result<Self> {
        let found = read(file).unwrap_or_default();
        let known = fs::read_to_string(companion(path, "-mark")).ok();
        let known = known.map(|known| known.lines().any(|mark| mark.parse() == Ok(found)));
        let were_foreign = known == Some(false);
        if were_foreign {
            let (log, away) = (companion(path, "-wal"), companion(path, "-wal-before-copy"));
            if log.exists() {
                fs::rename(&log, &away)?;
                tracing::warn!(
                    file = %path.display(), log = %away.display(),
                    "another file was copied over the database file; its former write-ahead log was renamed"
                );
            }
            let _ = fs::remove_file(companion(path, "-shm"));
        }
        Ok(Self {
            found: AtomicI32::new(found),
            possible: Mutex::new(vec![found]),
            are_lost: AtomicBool::new(false),
            were_foreign,
        })
    }

    pub fn are_known(&self, file: &File) -> bool {
        if self.are_lost() {
            return false;
        }
        if read(file) == Some(self.found.load(Ordering::Acquire)) {
            return true;
        }
        let mut possible = self.possible.lock();
        // Read again: meanwhile another thread may have found a later one.
        let Some(found) = read(file) else { return false };
        let Some(place) = possible.iter().position(|mark| *mark == found) else { return false };
        possible.drain(..place);
        self.found.store(found, Ordering::Release);
        true
    }

    /// Chooses another mark. It is on disk before it can be in the file.
    pub fn next(&self, path: &Path) -> io::Result<i32> {
        let mut possible = self.possible.lock();
        let next = another(&possible);
        possible.push(next);
        let lines: Vec<_> = possible.iter().map(i32::to_string).collect();
        let (file, whole) = (companion(path, "-mark"), companion(path, "-mark-partial"));
        let mut partial = File::create(&whole)?;
        partial.write_all(lines.join("\n").as_bytes())?;
        partial.sync_all()?;
        fs::rename(whole, file)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(next)
    }

    pub fn lose(&self, path: &Path) {
        if !self.are_lost.swap(true, Ordering::AcqRel) {
            tracing::error!(
                file = %path.display(),
                "the database file was moved, removed or replaced: the service does not use it any more; restart the service with the \
                 right file. A backup that was copied over the file while it was served has a new history then"
            );
        }
    }

    pub fn are_lost(&self) -> bool {
        self.are_lost.load(Ordering::Acquire)
    }
}

pub(crate) fn forget(path: &Path) {
    let _ = fs::remove_file(companion(path, "-mark"));
}

pub(crate) fn another(marks: &[i32]) -> i32 {
    let random = RandomState::new();
    let mut numbers = (0_u64..).map(|number| (random.hash_one(number) >> 33) as i32);
    numbers.find(|mark| *mark != 0 && !marks.contains(mark)).unwrap_or(1)
}

/// The mark in the file; `None` if the file is too short.
fn read(file: &File) -> Option<i32> {
    let mut mark = [0; 4];
    file.read_exact_at(&mut mark, PLACE).ok()?;
    Some(i32::from_be_bytes(mark))
}

pub(crate) fn companion(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
