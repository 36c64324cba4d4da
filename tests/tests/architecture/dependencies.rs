//! The crates that each `Cargo.toml` may name as a dependency.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::workspace::{OUTSIDE, metadata, name, packages};

/// The crates of the workspace that each crate may depend on, also for its build and its tests.
const FLOORS: &[(&str, &str)] = &[
    ("exact-json", ""),
    ("domain", "exact-json"),
    ("language", "domain"),
    ("application", "domain"),
    ("contents-adapter", "application domain"),
    ("http-adapter", "application domain"),
    ("identity-adapter", "application domain language"),
    ("labels-adapter", "application domain language"),
    ("policies-adapter", "application domain language"),
    ("rules-adapter", "application domain language"),
    ("storage-adapter", "application domain"),
    ("system-adapter", "application domain"),
    ("telemetry-adapter", "application domain"),
    (
        "bootstrap",
        "application contents-adapter domain http-adapter identity-adapter labels-adapter \
         language policies-adapter rules-adapter storage-adapter system-adapter telemetry-adapter",
    ),
];

/// The only crates of the service that may depend on each of these, which keeps the domain and the
/// use cases free of them.
const OWNERS: &[(&str, &str)] = &[
    ("storage-adapter", "rusqlite sea-orm sqlx"),
    ("http-adapter", "poem poem-openapi"),
    ("identity-adapter", "jsonwebtoken"),
    ("http-adapter identity-adapter", "ring"),
    ("identity-adapter telemetry-adapter", "hyper-rustls"),
    ("contents-adapter identity-adapter telemetry-adapter", "rustls"),
    ("contents-adapter", "object_store reqwest"),
    ("http-adapter identity-adapter", "hyper hyper-util"),
    ("language", "cel granit-parser regex-automata rust_decimal"),
    ("telemetry-adapter", "procfs"),
    (
        "contents-adapter http-adapter identity-adapter language rules-adapter storage-adapter telemetry-adapter",
        "prometheus-client",
    ),
    (
        "telemetry-adapter",
        "opentelemetry opentelemetry-otlp opentelemetry_sdk tracing-opentelemetry",
    ),
    ("bootstrap", "clap indicatif"),
    ("bootstrap telemetry-adapter", "tracing-subscriber"),
    ("system-adapter", "listenfd sd-notify"),
];

/// Crates with I/O, a clock or a framework.
const NOT_IN_THE_DOMAIN: &str = "tokio async-trait futures-util tracing";

#[test]
fn each_crate_depends_on_the_floors_below_it_only() {
    let dependencies = dependencies(|_| true);
    let ours: BTreeSet<_> = dependencies.keys().map(String::as_str).collect();
    let known: BTreeSet<_> = FLOORS.iter().map(|(name, _)| *name).chain(OUTSIDE).collect();
    assert_eq!(ours, known, "a new crate needs a floor in this test");
    for (name, allowed) in FLOORS {
        let allowed: BTreeSet<_> = allowed.split_whitespace().collect();
        let names = dependencies[*name].iter().map(String::as_str);
        let found: BTreeSet<_> = names.filter(|name| ours.contains(name)).collect();
        assert!(found.is_subset(&allowed), "{name} depends on {found:?}, and may on {allowed:?}");
        assert!(*name != "bootstrap" || found == allowed, "bootstrap wires all: {found:?}");
    }
}

#[test]
fn each_outside_technology_has_its_owners() {
    let dependencies = dependencies(|kind| kind != "dev");
    let is_used = |name: &str, technologies: &str| -> Vec<String> {
        let all = technologies.split_whitespace();
        all.filter(|it| dependencies[name].contains(*it)).map(str::to_owned).collect()
    };
    for (owners, technologies) in OWNERS {
        let is_owner = |name: &str| owners.split_whitespace().any(|owner| owner == name);
        for (name, _) in FLOORS.iter().filter(|(name, _)| !is_owner(name)) {
            assert_eq!(is_used(name, technologies), [""; 0], "{name}: they are for {owners}");
        }
    }
    assert_eq!(is_used("domain", NOT_IN_THE_DOMAIN), [""; 0], "the domain has no I/O");
    assert_eq!(is_used("application", "tokio"), [""; 0], "the use cases have no runtime");
}

#[test]
fn the_packages_are_configured_for_the_workspace() {
    let packages = packages();
    let targets = |package: &str| {
        let package = packages.iter().find(|it| it["name"] == package).unwrap();
        package["targets"].as_array().unwrap().iter()
    };
    for package in &packages {
        let manifest = std::fs::read_to_string(package["manifest_path"].as_str().unwrap()).unwrap();
        let has_lints = manifest.contains("[lints]\nworkspace = true");
        assert!(has_lints, "{} has its own lints", package["name"]);
    }
    // `cargo test --workspace` builds neither the reference servers nor the load generator.
    for target in targets("benchmark") {
        assert_eq!(target["test"], false, "{} needs `test = false`", target["name"]);
    }
    // `cargo run` runs the service.
    let metadata = metadata();
    let defaults = metadata["workspace_default_members"].as_array().unwrap();
    assert!(defaults.len() == 1 && defaults[0].to_string().contains("bootstrap"), "{defaults:?}");
    let binaries = targets("bootstrap").filter(|target| target["kind"][0] == "bin");
    let names: Vec<_> = binaries.map(|target| &target["name"]).collect();
    assert_eq!(names, ["proposal-service"]);
}

/// The direct dependencies of each crate, of some of the kinds `normal`, `build` and `dev`.
fn dependencies(is_kind: impl Fn(&str) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let of_package = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("dependencies").iter();
        dependencies
            .filter(|dependency| is_kind(dependency["kind"].as_str().unwrap_or("normal")))
            .map(name)
            .collect()
    };
    packages().iter().map(|package| (name(package), of_package(package))).collect()
}
