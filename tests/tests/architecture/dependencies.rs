//! The crates that each crate may depend on. Cargo enforces what a `Cargo.toml` names; this enforces what it
//! may name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::workspace::{OUTSIDE, metadata, name, packages};

/// The crates of ours that each crate may depend on, whether to run, to build or to be tested.
const FLOORS: &[(&str, &[&str])] = &[
    ("exact-json", &[]),
    ("domain", &["exact-json"]),
    ("language", &["domain"]),
    ("application", &["domain"]),
    ("http-adapter", &["application", "domain"]),
    ("identity-adapter", &["application", "domain", "language"]),
    ("policies-adapter", &["application", "domain", "language"]),
    ("rules-adapter", &["application", "domain", "language"]),
    ("storage-adapter", &["application", "domain"]),
    ("system-adapter", &["application", "domain"]),
    ("telemetry-adapter", &["application", "domain"]),
    (
        "bootstrap",
        &[
            "application",
            "domain",
            "http-adapter",
            "identity-adapter",
            "language",
            "policies-adapter",
            "rules-adapter",
            "storage-adapter",
            "system-adapter",
            "telemetry-adapter",
        ],
    ),
];

/// The only crates of the service that may depend on each of these; the domain and the use cases
/// thus stay free of all.
const OWNERS: &[(&[&str], &[&str])] = &[
    (&["storage-adapter"], &["rusqlite", "sea-orm", "sea-orm-migration", "sqlx"]),
    (&["http-adapter"], &["poem", "poem-openapi"]),
    (&["identity-adapter"], &["jsonwebtoken", "ring"]),
    (&["identity-adapter", "telemetry-adapter"], &["hyper-rustls", "rustls"]),
    (&["http-adapter", "identity-adapter"], &["hyper", "hyper-util"]),
    (&["language"], &["cel", "granit-parser", "regex-automata", "rust_decimal"]),
    (&["telemetry-adapter"], &["procfs"]),
    (
        &[
            "http-adapter",
            "identity-adapter",
            "language",
            "rules-adapter",
            "storage-adapter",
            "telemetry-adapter",
        ],
        &["prometheus-client"],
    ),
    (
        &["telemetry-adapter"],
        &["opentelemetry", "opentelemetry-otlp", "opentelemetry_sdk", "tracing-opentelemetry"],
    ),
    (&["bootstrap"], &["clap", "indicatif"]),
    (&["bootstrap", "telemetry-adapter"], &["tracing-subscriber"]),
    (&["system-adapter"], &["listenfd", "sd-notify"]),
];

/// Crates that would bring I/O, a clock or a framework into the domain.
const NOT_IN_THE_DOMAIN: &[&str] = &["tokio", "async-trait", "futures-util", "tracing"];

#[test]
fn each_crate_depends_on_the_floors_below_it_only() {
    let dependencies = dependencies(|_| true);
    let ours: BTreeSet<_> = dependencies.keys().map(String::as_str).collect();
    let known: BTreeSet<_> = FLOORS.iter().map(|(name, _)| *name).chain(OUTSIDE).collect();
    assert_eq!(ours, known, "a new crate needs a floor in this test");
    for (name, allowed) in FLOORS {
        let found: Vec<_> = dependencies[*name]
            .iter()
            .map(String::as_str)
            .filter(|name| ours.contains(name))
            .collect();
        assert!(
            found.iter().all(|dependency| allowed.contains(dependency)),
            "{name} depends on {found:?}, and may on {allowed:?}"
        );
    }
    let wired: Vec<_> =
        dependencies["bootstrap"].iter().filter(|name| ours.contains(name.as_str())).collect();
    assert_eq!(wired.len(), 10, "bootstrap wires all floors: {wired:?}");
}

#[test]
fn each_outside_technology_has_its_owners() {
    let dependencies = dependencies(|kind| kind != "dev");
    for (owners, technologies) in OWNERS {
        for (name, _) in FLOORS.iter().filter(|(name, _)| !owners.contains(name)) {
            for technology in *technologies {
                assert!(
                    !dependencies[*name].contains(*technology),
                    "{name} depends on {technology}, which is for {owners:?}"
                );
            }
        }
    }
    for technology in NOT_IN_THE_DOMAIN {
        assert!(
            !dependencies["domain"].contains(*technology),
            "the domain depends on {technology}"
        );
    }
    assert!(!dependencies["application"].contains("tokio"), "the use cases depend on a runtime");
}

#[test]
fn each_crate_inherits_the_lints_of_the_workspace() {
    for package in packages() {
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        assert!(
            manifest.contains("[lints]\nworkspace = true"),
            "{} has lints of its own",
            package["name"]
        );
    }
}

/// `cargo test --workspace` builds neither the reference servers nor the load generator.
#[test]
fn the_benchmark_is_not_built_for_tests() {
    let packages = packages();
    let benchmark = packages.iter().find(|package| package["name"] == "benchmark").unwrap();
    for target in benchmark["targets"].as_array().unwrap() {
        assert_eq!(target["test"], false, "{} needs `test = false`", target["name"]);
    }
}

#[test]
fn cargo_run_runs_the_service() {
    let metadata = metadata();
    let defaults: Vec<_> = metadata["workspace_default_members"]
        .as_array()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(defaults.len() == 1 && defaults[0].contains("bootstrap"), "{defaults:?}");
    let packages = packages();
    let bootstrap = packages.iter().find(|package| package["name"] == "bootstrap").unwrap();
    let targets = bootstrap["targets"].as_array().unwrap().iter();
    let binaries: Vec<_> = targets
        .filter(|target| target["kind"][0] == "bin")
        .map(|target| target["name"].as_str())
        .collect();
    assert_eq!(binaries, [Some("proposal-service")]);
}

/// The names each crate of the workspace depends on directly, for the kinds `normal`, `build` and
/// `dev` that are asked for.
fn dependencies(is_asked_for: impl Fn(&str) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let of_package = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
        dependencies
            .filter(|dependency| is_asked_for(dependency["kind"].as_str().unwrap_or("normal")))
            .map(name)
            .collect()
    };
    packages().iter().map(|package| (name(package), of_package(package))).collect()
}
