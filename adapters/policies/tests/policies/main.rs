//! Policies of files: how they are read, decide, and are replaced.

mod cases;
mod deciding;
mod examples;
mod reading;
mod reloading;
mod support;
mod warnings;
