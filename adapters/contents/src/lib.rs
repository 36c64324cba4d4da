//! The places for the bytes of contents: a folder or an S3 bucket.

mod bucket;
mod folder;
mod layout;
mod location;
mod metrics;
mod spool;
mod upkeep;

pub use bucket::Bucket;
pub use folder::Folder;
pub use layout::LocationError;
pub use location::Location;
pub use metrics::ContentMetrics;
pub use upkeep::{keep_sweeping, keep_verifying};
