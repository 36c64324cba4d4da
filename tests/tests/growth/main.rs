//! The cost of the pages of the explorer: the number of statements, and of the rows that they examine,
//! does not depend on the number of items, and no page is large.

#![expect(clippy::unwrap_used, reason = "a case fails where it cannot continue")]

mod examined;
mod pages;
mod sizes;
mod store;
