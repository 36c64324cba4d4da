//! Clients that mean harm, over raw sockets against the real binary: the service answers them as
//! they deserve, answers all others meanwhile, and takes little memory.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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
mod streams;
mod texts;
