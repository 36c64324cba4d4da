//! Who sends a request, its body, and the memory it may take.

pub mod body;
pub mod caller;
pub mod memory_budget;
pub mod rule_trial;
