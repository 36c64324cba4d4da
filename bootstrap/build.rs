//! Tells the binary which commit it is built of: what `PROPOSAL_SERVICE_COMMIT` says, or else the
//! repository, or `unknown` where there is none.

use std::path::Path;
use std::process::Command;

const VARIABLE: &str = "PROPOSAL_SERVICE_COMMIT";

fn main() {
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let named = std::env::var(VARIABLE).ok();
    let commit = named.filter(|it| !it.trim().is_empty()).or_else(commit_of_repository);
    let commit = commit.as_deref().and_then(|it| it.split_whitespace().next());
    println!("cargo::rustc-env={VARIABLE}={}", commit.unwrap_or("unknown"));
}

/// The commit that is checked out. Building again is only needed when it changes: what `HEAD` names,
/// the commit of the branch, or, where branches are packed into one file, the log of `HEAD`.
fn commit_of_repository() -> Option<String> {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        // Cargo would build again each time for a file that does not exist.
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let answer = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| answer.trim().to_owned())
}
