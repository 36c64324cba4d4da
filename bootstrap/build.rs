//! Sets the commit of the build: `PROPOSAL_SERVICE_COMMIT`, else the repository's `HEAD`, else
//! `unknown`.

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

/// Returns the checked-out commit. Rebuilds if `HEAD`, its branch or, for packed branches, the log
/// of `HEAD` changes.
fn commit_of_repository() -> Option<String> {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--path-format=absolute", "--git-path", name]);
        // Cargo would rebuild every time for a missing file.
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
