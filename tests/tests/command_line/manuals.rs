//! The binary's description of itself: its version, its manual pages, and completions for shells.

use std::collections::BTreeMap;
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

/// The environment variable and the default of an option, where there are any.
type Described = (Option<String>, Option<String>);

/// The options of `serve`, as `--help` describes them.
fn options_of_help() -> BTreeMap<String, Described> {
    let output = run(&["serve", "--help"]);
    let mut options = BTreeMap::new();
    let mut current: Option<&mut Described> = None;
    for line in text(&output.stdout).lines() {
        let within =
            |start: &str| Some(line.trim().strip_prefix(start)?.strip_suffix(']')?.to_owned());
        if let Some(option) = line.strip_prefix("      --") {
            let name = option.split([' ', '=']).next().unwrap();
            current = Some(options.entry(format!("--{name}")).or_default());
        } else if line.starts_with("  -") {
            // An option with a short form: `--help` alone.
            current = None;
        } else if let Some((variable, default)) = &mut current {
            // Other lines of a default are a part of the sentence.
            if let Some(found) = within("[env: ") {
                *variable = Some(found.trim_end_matches('=').to_owned());
            } else if let Some(found) = within("[default: ") {
                *default = Some(found);
            }
        }
    }
    options
}

/// The options of the table of the page, likewise; a default that is not one value is kept as words.
fn options_of_page() -> BTreeMap<String, Described> {
    let page = include_str!("../../../docs/operations.md");
    let (_, rest) = page.split_once("\n## Configuration\n").unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `--"));
    let described = rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [_, option, variable, default, ..] = cells[..] else { panic!("{row}") };
        let code = |cell: &str| {
            let code = cell.strip_prefix('`')?.strip_suffix('`')?;
            (!code.contains('`')).then(|| code.to_owned())
        };
        (code(option).expect(row), (code(variable), code(default)))
    });
    let described: Vec<_> = described.collect();
    let options: BTreeMap<_, _> = described.iter().cloned().collect();
    assert_eq!(options.len(), described.len(), "an option has two rows");
    options
}

#[test]
fn the_page_on_operations_has_every_option_of_help_and_no_other() {
    let (help, page) = (options_of_help(), options_of_page());
    assert!(help.len() > 30, "the help is read: {help:?}");
    let mut wrong = Vec::new();
    for (option, (variable, default)) in &help {
        let row = |cell: &Option<String>, none: &str| {
            cell.as_ref().map_or_else(|| none.to_owned(), |text| format!("`{text}`"))
        };
        let row = format!("| `{option}` | {} | {} | … |", row(variable, ""), row(default, "none"));
        match page.get(option) {
            None => wrong.push(format!("add a row for {option}: {row}")),
            Some(found) if *found != (variable.clone(), default.clone()) => {
                wrong.push(format!("correct the row of {option}: {row}"));
            }
            Some(_) => {}
        }
    }
    let unknown = page.keys().filter(|option| !help.contains_key(*option));
    wrong.extend(
        unknown.map(|option| format!("remove the row of {option}: `serve --help` has none")),
    );
    assert!(
        wrong.is_empty(),
        "the table under \"Configuration\" of docs/operations.md and `proposal-service serve --help` differ:\n{}",
        wrong.join("\n")
    );
}
