//! Who sends a request, its body, the memory it may take, and what is kept with it.

pub mod body;
pub mod caller;
pub mod details;
pub mod import_memory;
pub mod memory_budget;
pub mod rule_trial;
