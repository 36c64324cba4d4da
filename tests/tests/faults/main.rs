//! Promises that hold when things break: the real binary, killed and cut off in the midst of its work.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancelled;
mod clock;
mod clock_ahead;
mod compacted;
mod database_file;
mod deleted;
mod full_disk;
mod indexing;
mod killed;
mod load;
mod pooler;
mod postgres_killed;
mod postgres_server;
mod replicas;
mod retried;
mod silent;
mod standby;
mod stopped;
mod too_old;
mod unsuitable;
mod wrong_password;
