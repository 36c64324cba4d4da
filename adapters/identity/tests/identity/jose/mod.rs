//! Verdicts about changed tokens, compared with those of another implementation: `jose`, of the author of
//! the provider that the tests sign in at. `tests/run jose` installs it, and runs this.

mod changes;

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::process::Command;

use changes::Changes;
use serde_json::{Value, json};

use crate::support::{AUDIENCE, Issuer, NOW, Signer};

const TOKENS: usize = 10_000;
/// The seed of the changes, unless `TEST_SEED` is another.
const SEED: u64 = 9_068;

/// Reasons for which a token may be refused here that `jose` accepts: each is a promise of
/// `docs/identity.md` that `jose` does not make, or leaves to its callers.
const STRICTER: &[&str] = &[
    // One form of each token, because tokens are the keys of a cache.
    "is not base64url",
    "has a duplicate member",
    "is not JSON",
    // Header members that would change how it is read.
    "the token's header has `crit`",
    "the token's header has `b64`",
    "the token is compressed",
    "the token is encrypted",
    "of its header is not a string",
    // What `jsonwebtoken` finds: members of the header of a wrong type that nothing depends on.
    "the token's claims are not those of an access token",
    // Claims of a wrong type, and those that a token may not have or lack.
    "is not a string",
    "is not a number of seconds",
    "is not an object",
    "is not a list",
    "`cnf`",
    "the token has no `sub`",
    "`client_id` and `azp` differ",
    "the token's subject",
    "the token's client is empty",
    "`act` has no string `sub`",
    "`act` names another issuer",
    "valid for longer than allowed",
];

/// How often both accepted and both refused, and only `jose` accepted.
#[derive(Debug, Default)]
struct Tally {
    accepted: BTreeMap<&'static str, usize>,
    refused: usize,
    stricter: BTreeMap<&'static str, usize>,
}

#[tokio::test]
#[ignore = "needs the packages of npm: tests/run jose"]
async fn no_changed_token_is_accepted_that_jose_refuses() {
    let seed = std::env::var("TEST_SEED").map_or(SEED, |seed| seed.parse().expect("a number"));
    let signers = [
        Signer::new("RS256", "rs"),
        Signer::new("PS256", "ps"),
        Signer::new("ES256", "es"),
        Signer::new("ES384", "es-384"),
        Signer::new("EdDSA", "ed"),
        // A second key of an algorithm: without a name of its key, a token may be of either.
        Signer::new("ES256", "second"),
    ];
    let issuer = Issuer::start(&signers.iter().collect::<Vec<_>>()).await;
    let world = issuer.world("");
    let mut changes = Changes::new(seed, &signers, &issuer);
    for token in changes.unchanged() {
        world.caller(token).await;
    }
    let mut known: HashSet<_> = changes.unchanged().iter().cloned().collect();
    let tokens: Vec<_> = std::iter::repeat_with(|| changes.make())
        .filter(|(_, token)| known.insert(token.clone()))
        .take(TOKENS)
        .collect();
    let verdicts = verdicts_of_jose(&settings(&signers, &issuer), &tokens);
    let (mut tally, mut differences) = (Tally::default(), Vec::new());
    for ((algorithm, token), theirs) in tokens.iter().zip(&verdicts) {
        let ours = world.refusal(token).await;
        if let Some(difference) = tally.add(algorithm, &ours, theirs) {
            differences.push(format!("{difference}: {token}"));
        }
    }
    println!("TEST_SEED={seed}: {tally:#?}");
    // Signatures are random, so the seed alone makes no token again.
    let keys = settings(&signers, &issuer);
    assert!(differences.is_empty(), "TEST_SEED={seed}\n{keys}\n{}", differences.join("\n"));
    // The comparison would be empty if every change were fatal, or none.
    let accepted: usize = tally.accepted.values().sum();
    assert!(accepted >= 1_000 && tally.refused >= 1_000, "{tally:#?}");
    assert!(tally.accepted.values().all(|count| *count >= 100), "{tally:#?}");
    assert_eq!(tally.accepted.len(), 5, "{tally:#?}");
}

impl Tally {
    /// Counts a pair of verdicts; returns what is wrong with one that may not be.
    fn add(&mut self, algorithm: &'static str, ours: &str, theirs: &str) -> Option<String> {
        let is_accepted = ours.starts_with("accepted as agency:");
        match (is_accepted, theirs == "accepted") {
            (true, true) => *self.accepted.entry(algorithm).or_default() += 1,
            (false, false) => self.refused += 1,
            (true, false) => return Some(format!("accepted here, and refused by jose ({theirs})")),
            (false, true) => match STRICTER.iter().find(|reason| ours.contains(**reason)) {
                Some(reason) => *self.stricter.entry(reason).or_default() += 1,
                None => return Some(format!("refused here only ({ours})")),
            },
        }
        None
    }
}

/// Settings for `jose`: what the identity file of the test says by its defaults.
fn settings(signers: &[Signer], issuer: &Issuer) -> Value {
    json!({
        "jwks": {"keys": signers.iter().map(Signer::jwk).collect::<Vec<_>>()},
        "issuer": issuer.url,
        "audience": AUDIENCE,
        "algorithms": ["RS256", "PS256", "ES256", "ES384", "EdDSA"],
        "now": NOW,
        "leeway": 30,
        "longestLifetime": 86_400,
    })
}

fn verdicts_of_jose(settings: &Value, tokens: &[(&str, String)]) -> Vec<String> {
    let program = std::env::var("TEST_JOSE").expect("the path of tests/jose.mjs in TEST_JOSE");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("tokens");
    let tokens_as_json = tokens.iter().map(|(_, token)| json!(token).to_string());
    let lines: Vec<_> = std::iter::once(settings.to_string()).chain(tokens_as_json).collect();
    fs::write(&path, lines.join("\n")).expect("a file");
    let output = Command::new("node").arg(program).arg(&path).output().expect("node");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let verdicts = String::from_utf8(output.stdout).expect("UTF-8");
    let verdicts: Vec<_> = verdicts.lines().map(str::to_owned).collect();
    assert_eq!(verdicts.len(), tokens.len());
    verdicts
}
