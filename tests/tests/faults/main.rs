//! What must hold when things break: the real binary, killed and cut off in the midst of its work.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancelled;
mod clock;
mod database_file;
mod full_disk;
mod killed;
mod load;
mod postgres_killed;
mod postgres_server;
mod retried;
mod silent;
mod stopped;
mod wrong_password;
