//! The binary's description of itself: its version, its manual pages, and completions for shells.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::{VARIABLES, command, folder, refused, run, text};

/// Every command, as the file of its page is named.
pub const COMMANDS: [&str; 26] = [
    "serve",
    "migrate",
    "seed",
    "backup",
    "export",
    "import",
    "load",
    "compact",
    "history",
    "history-renew",
    "callers",
    "callers-erase",
    "keys",
    "keys-new",
    "rules",
    "rules-check",
    "rules-test",
    "rules-audit",
    "policies",
    "policies-check",
    "policies-test",
    "access",
    "access-check",
    "openapi",
    "completions",
    "man",
];

#[test]
fn the_version_names_the_commit_and_the_schema() {
    let output = run(&["--version"]);
    let said = text(&output.stdout);
    let start = concat!("proposal-service ", env!("CARGO_PKG_VERSION"), " (commit ");
    let rest = said.strip_prefix(start).and_then(|rest| rest.strip_suffix(")\n"));
    let (commit, schema) = rest.and_then(|rest| rest.split_once(", schema ")).expect(said);
    let is_commit = commit.len() >= 7 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown", "{said}");
    assert!(schema.parse::<u32>().is_ok_and(|schema| schema > 0), "{said}");
}

#[test]
fn every_shell_has_completions_of_commands_and_options() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = run(&["completions", shell]);
        let script = text(&output.stdout);
        assert!(output.status.success());
        for word in ["migrate", "audit", "database-url", "require-if-match"] {
            assert!(script.contains(word), "no {word} for {shell}");
        }
    }
    assert!(refused(&run(&["completions", "csh"]), 2).contains("bash, elvish, fish"));
}

#[test]
fn bash_completes_what_was_begun() {
    let script = run(&["completions", "bash"]).stdout;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-s"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut bash = bash.spawn().unwrap();
    let mut input = bash.stdin.take().unwrap();
    input.write_all(&script).unwrap();
    input
        .write_all(
            b"function=$(complete -p proposal-service | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n\
              COMP_WORDS=(proposal-service rules au); COMP_CWORD=2\n\
              $function proposal-service au rules; echo \"${COMPREPLY[*]}\"\n",
        )
        .unwrap();
    drop(input);
    assert_eq!(text(&bash.wait_with_output().unwrap().stdout), "audit\n");
}

#[test]
fn the_manual_page_has_every_option_with_its_variable_and_no_value_of_it() {
    let output = command(&folder(), &["man"])
        .env("PROPOSAL_SERVICE_DATABASE_URL", "postgres://me:secret@db/a")
        .output()
        .unwrap();
    let page = text(&output.stdout);
    assert!(output.status.success() && page.contains(".TH proposal-service 1"), "{page}");
    for variable in VARIABLES.iter().filter(|variable| **variable != "RUST_LOG") {
        assert!(page.contains(variable), "no {variable} in:\n{page}");
    }
    assert!(!page.contains("secret"));
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder();
    assert!(command(&folder, &["man", "pages/man1"]).status().unwrap().success());
    let pages = folder.path().join("pages/man1");
    for name in COMMANDS {
        let page = pages.join(format!("proposal-service-{name}.1"));
        let page = std::fs::read_to_string(&page).expect(name);
        assert!(page.contains(&format!(".TH proposal-service-{name} 1")), "{page}");
    }
    assert_eq!(std::fs::read_dir(pages).unwrap().count(), COMMANDS.len() + 1);
    std::fs::write(folder.path().join("file"), "").unwrap();
    let output = command(&folder, &["man", "file"]).output().unwrap();
    assert!(refused(&output, 1).contains("cannot write to file"));
}
