//! The binary as a command that does something and ends.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use procfs::process::Process;

use crate::binary;

/// The binary with arguments, and without the developer's settings.
#[must_use]
pub fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary::path());
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs a command that must succeed; what it said on standard output.
#[track_caller]
pub fn done(arguments: &[&str]) -> Vec<u8> {
    let output = tool(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs a command that must be refused; what it said on standard error from the line that tells
/// why.
#[track_caller]
pub fn refused(arguments: &[&str], code: i32) -> String {
    error_of(&tool(arguments).output().expect("the binary runs"), code)
}

/// Asserts that a command was refused; what it said on standard error from the line that tells why.
#[track_caller]
pub fn error_of(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let from = said
        .find("proposal-service: ")
        .unwrap_or_else(|| panic!("no error is reported, but:\n{said}"));
    said[from..].to_owned()
}

/// Waits for the end of a process; the most memory it held, in bytes.
#[track_caller]
pub fn peak_memory(process: &mut Child) -> u64 {
    let watched = Process::new(i32::try_from(process.id()).expect("a process id"))
        .expect("the process can be looked at");
    let mut peak = 0;
    while process.try_wait().expect("the process can be asked").is_none() {
        // It has none when it has ended, and has not been waited for.
        peak = watched.status().ok().and_then(|status| status.vmhwm).unwrap_or(0).max(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    peak * 1024
}
