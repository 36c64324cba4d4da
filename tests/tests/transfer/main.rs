//! Whole stores with the real binary: `backup`, `export` and `import`.

#![expect(clippy::unwrap_used, reason = "a failure ends the test")]

mod backups;
mod bounds;
mod history;
mod moves;
mod refusals;
