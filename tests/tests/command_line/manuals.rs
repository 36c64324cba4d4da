//! The binary's description: help, version, manual pages, and completions for shells.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::{command, folder, result, run, text};

/// The commands, as the files of their pages are named.
const COMMANDS: &str = "serve migrate seed backup export import load compact contents contents-verify \
    contents-register contents-sweep history history-renew \
    callers callers-erase keys keys-new rules rules-check rules-test rules-audit policies \
    policies-check policies-test policies-diff access access-check access-list openapi completions man";

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
}

#[test]
fn bash_completes_a_partial_word() {
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
fn help_and_the_manual_have_every_variable_and_no_value_of_it() {
    let options = options_of_help();
    let variables: Vec<_> = options.values().filter_map(|(name, _)| name.as_deref()).collect();
    for (arguments, has_all) in
        [(&["--help"][..], true), (&["man"], true), (&["migrate", "--help"], false)]
    {
        let folder = folder();
        let mut described = command(&folder, arguments);
        described.env("PROPOSAL_SERVICE_DATABASE_URL", "postgres://me:secret@db/a");
        let (code, said, _) = result(&mut described);
        assert!(code == Some(0) && !said.contains("secret"), "{said}");
        for variable in variables.iter().filter(|_| has_all) {
            assert!(said.contains(variable), "no {variable} in:\n{said}");
        }
    }
    let help = run(&["--help"]).stdout;
    // Pages of subcommands have a hyphen in their names.
    let commands = COMMANDS.split_whitespace().filter(|name| !name.contains('-'));
    for word in commands.chain(["--demo", "RUST_LOG"]) {
        assert!(text(&help).contains(word), "no {word} in:\n{}", text(&help));
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = folder();
    assert!(command(&folder, &["man", "pages/man1"]).status().unwrap().success());
    let pages = folder.path().join("pages/man1");
    let names = COMMANDS.split_whitespace().map(|name| format!("proposal-service-{name}"));
    let names: Vec<_> = names.chain(["proposal-service".to_owned()]).collect();
    for name in &names {
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).expect(name);
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
    }
    assert_eq!(std::fs::read_dir(pages).unwrap().count(), names.len());
}

/// The environment variable and the default of an option, if it has them.
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

/// The options in the table of the page; a default that is not one value is not code.
fn options_of_page() -> BTreeMap<String, Described> {
    let page = include_str!("../../../docs/operations.md");
    let (_, rest) = page.split_once("\n## Configuration\n").unwrap();
    let section = rest.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `--"));
    let described: Vec<_> = rows
        .map(|row| {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            let [_, option, variable, default, ..] = cells[..] else { panic!("{row}") };
            let code = |cell: &str| {
                let code = cell.strip_prefix('`')?.strip_suffix('`')?;
                (!code.contains('`')).then(|| code.to_owned())
            };
            (code(option).expect(row), (code(variable), code(default)))
        })
        .collect();
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
    wrong.extend(unknown.map(|option| format!("remove the row of {option}: no such option")));
    let wrong = wrong.join("\n");
    assert_eq!(wrong, "", "docs/operations.md, Configuration, differs from `serve --help`");
}
