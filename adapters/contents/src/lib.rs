//! The place for the bytes of contents: a folder.

mod folder;
mod sweep;

pub use folder::{Folder, FolderError};
pub use sweep::keep_sweeping;
