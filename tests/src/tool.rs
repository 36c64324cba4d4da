//! The binary as a command that ends.

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use procfs::process::Process;

use crate::binary;

/// The binary with arguments, and without the developer's settings.
pub fn tool(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary::path());
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs a command that must succeed, and returns its standard output.
#[track_caller]
pub fn done(arguments: &[&str]) -> Vec<u8> {
    let output = tool(arguments).output().expect("the binary runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Runs a command that must fail, and returns its standard error from the line with the reason.
#[track_caller]
pub fn refused(arguments: &[&str], code: i32) -> String {
    error_of(&tool(arguments).output().expect("the binary runs"), code)
}

/// Asserts that a command failed, and returns its standard error from the line with the reason.
#[track_caller]
pub fn error_of(output: &Output, code: i32) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    let from = said.find("proposal-service: ");
    said[from.unwrap_or_else(|| panic!("no error is reported, but:\n{said}"))..].to_owned()
}

/// Waits for the end of a process, and returns its peak memory in bytes.
#[track_caller]
pub fn peak_memory(process: &mut Child) -> u64 {
    let watched = Process::new(i32::try_from(process.id()).expect("a process id"))
        .expect("the process can be inspected");
    let mut peak = 0;
    while process.try_wait().expect("the process can be asked").is_none() {
        // An ended process that was not waited for has no memory.
        peak = watched.status().ok().and_then(|status| status.vmhwm).unwrap_or(0).max(peak);
        std::thread::sleep(Duration::from_millis(5));
    }
    peak * 1024
}
