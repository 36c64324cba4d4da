//! Business rules in files: put in force while the service runs, and tried before.

mod audit;
mod check;
mod watch;

use domain::{Document, Proposal, Resource};

pub use audit::audit;
pub use check::{check, test};
pub use watch::{hang_ups, open, watch};

/// The codes of the rules written in Rust, which no rule in a file may have.
fn reserved() -> Vec<&'static str> {
    Proposal::rules()
        .iter()
        .map(|rule| rule.code())
        .chain(Document::rules().iter().map(|rule| rule.code()))
        .collect()
}
