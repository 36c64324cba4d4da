//! Request bodies, and the memory they may take.

pub mod body;
pub mod memory_budget;
pub mod rule_trial;
