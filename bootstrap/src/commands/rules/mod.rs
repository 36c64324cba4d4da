//! Business rules in files, tried before they are put in force.

mod audit;
mod entries;

pub use audit::audit;
