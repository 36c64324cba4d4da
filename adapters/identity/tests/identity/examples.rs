//! The identity files that people copy (`docs/examples/identity`), and the page about identity.

use std::collections::BTreeSet;
use std::fs;

use application::Identity;
use domain::Operation;
use serde_json::{Value, json};

use crate::files::{docs, load, load_text};
use crate::support::{Issuer, Signer, World, with};

fn page() -> String {
    fs::read_to_string(docs("identity.md")).expect("the page")
}

#[test]
fn every_example_is_sound() {
    let files = fs::read_dir(docs("examples/identity")).expect("the examples");
    let mut count = 0;
    for file in files {
        load(&file.expect("a file").path());
        count += 1;
    }
    assert_eq!(count, 1);
    let agency = load(&docs("examples/identity/agency.yaml"));
    assert_eq!(agency.published().issuers.len(), 2);
    let scopes: Vec<_> = agency.published().scopes.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(scopes, ["proposals.read".into(), "proposals.write".into()]);
}

#[tokio::test]
async fn callers_of_the_example_are_made_of_tokens() {
    let signer = Signer::new("ES256", "one");
    let (agency, partners) = (Issuer::start(&[&signer]).await, Issuer::start(&[&signer]).await);
    let file = fs::read_to_string(docs("examples/identity/agency.yaml")).expect("the example");
    let file = file
        .replace("https://id.agency.example/realms/research", &agency.url)
        .replace("https://login.partners.example", &partners.url);
    let world = World::new(&file);
    let token = |issuer: &Issuer, claims: &Value| {
        let own = json!({"aud": "https://proposals.agency.example"});
        issuer.token_with(&signer, &with(&own, claims))
    };
    let known = json!({"email_verified": true});
    let roles = json!({"realm_access": {"roles": ["proposals-auditor", "auditor", "admin"]}});
    let caller = world.caller(&token(&agency, &with(&known, &roles))).await;
    assert_eq!((&*caller.id, &*caller.roles), ("agency:ana", &["auditor".into()][..]));
    assert!(caller.granted.contains(Operation::History));
    assert!(!caller.granted.contains(Operation::Create));
    assert_eq!(*world.caller(&token(&agency, &known)).await.roles, []);
    let refusal = world.refusal(&token(&agency, &json!({}))).await;
    assert_eq!(refusal, "confirm your address first, in your account");
    let review = json!({"scope": "openid proposals.review"});
    let caller = world.caller(&token(&partners, &review)).await;
    assert_eq!((&*caller.id, &*caller.roles), ("partners:ana", &["reviewer".into()][..]));
    let refusal = world.refusal(&token(&partners, &json!({}))).await;
    assert_eq!(refusal, "ask for the scope proposals.review");
}

#[test]
fn every_identity_file_of_the_page_is_sound() {
    let page = page();
    let blocks = page.split("\n```yaml").skip(1).filter_map(|block| block.split_once('\n'));
    let files: Vec<_> = blocks.filter_map(|(_, rest)| rest.split_once("\n```")).collect();
    assert!(files.len() >= 4, "the test looks for examples");
    for (text, _) in files {
        println!("{text}");
        load_text(text);
    }
}

fn keys_of(schema: &Value, keys: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        keys.extend(properties.keys().cloned());
    }
    let parts = schema.as_object().into_iter().flat_map(|members| members.values());
    parts.chain(schema.as_array().into_iter().flatten()).for_each(|part| keys_of(part, keys));
}

#[test]
fn the_page_names_every_key() {
    let schema = serde_json::from_str(&identity_adapter::schema()).expect("JSON");
    let mut keys = BTreeSet::new();
    keys_of(&schema, &mut keys);
    assert!(keys.len() > 20, "{keys:?}");
    let page = page();
    let cells = page.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    let cells: String = cells.collect();
    let missing: Vec<_> = keys.iter().filter(|key| !cells.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
