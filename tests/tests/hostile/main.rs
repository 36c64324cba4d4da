//! Hostile clients, over raw sockets against the real binary: the service refuses their requests,
//! serves all other clients meanwhile, and takes little memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod attack;
mod bodies;
mod connections;
mod exports;
mod files;
mod framing;
mod imports;
mod json;
mod memory;
mod searches;
mod slow_transfers;
mod streams;
mod texts;
