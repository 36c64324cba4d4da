//! Rules of files: how they are read, judge, and are replaced.

mod cases;
mod documentation;
mod examples;
mod judging;
mod reading;
mod reloading;
mod support;
mod warnings;
