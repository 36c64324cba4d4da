//! Business rules in files, tried before they are put in force.

mod audit;
mod check;
mod entries;

pub use audit::audit;
pub use check::{check, test};
