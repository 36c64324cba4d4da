//! How many signatures are verified at once, and how long a token waits for its turn.

use std::fs;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use application::{Clock, Unrecognized};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use jiff::civil::Date;
use language::FileContent;
use language::files::FileSet;
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;
use tokio::time::Instant;

use super::Verifier;
use crate::identity_file::IdentityFile;
use crate::in_force::InForce;

const NOW: i64 = 1_800_000_000;
const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "https://proposals.example";
const FILE: &str = "issuers: [{name: agency, issuer: https://id.example}]";

#[derive(Clone, Copy)]
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(NOW).expect("a time")
    }

    fn day_of(&self, _time: Timestamp) -> Date {
        Date::constant(2027, 1, 15)
    }
}

/// A verifier, and an issuer whose key is known.
struct World {
    verifier: Verifier,
    current: InForce,
    key: Ed25519KeyPair,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("identity.yaml");
        fs::write(&path, FILE).expect("a file");
        let files = FileSet::read(&path, InForce::FILES);
        let file = IdentityFile::read(files, AUDIENCE).expect("a sound file");
        let clock: Arc<dyn Clock> = Arc::new(FixedClock);
        let current = InForce::new(file, None, &clock).expect("TLS");
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
        let x = URL_SAFE_NO_PAD.encode(key.public_key());
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "kid": "k", "x": x});
        current.keys[0].hold(json!({"keys": [jwk]}).to_string().as_bytes());
        Self { verifier: Verifier::default(), current, key }
    }

    /// A token of a subject.
    fn token(&self, subject: &str, ends: i64) -> String {
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": "k"}).to_string();
        let claims =
            json!({"iss": ISSUER, "aud": AUDIENCE, "sub": subject, "iat": NOW, "exp": ends});
        let [header, claims] =
            [header, claims.to_string()].map(|part| URL_SAFE_NO_PAD.encode(part));
        let message = format!("{header}.{claims}");
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }

    /// The subject of a token that is accepted, or why it is not.
    async fn recognize(&self, token: &str) -> Result<String, Unrecognized> {
        let principal = self.verifier.recognize(&self.current, token, FixedClock.now()).await?;
        Ok(principal.id.to_string())
    }
}

fn places() -> usize {
    (available_parallelism().expect("the number of cores").get() / 2).max(1)
}

#[tokio::test(start_paused = true)]
async fn half_of_the_workers_verify_signatures_and_others_wait_a_quarter_of_a_second() {
    let world = World::new();
    world.recognize(&world.token("known", NOW + 600)).await.expect("a caller");
    let mut permits = Vec::new();
    while let Ok(permit) = world.verifier.permits.try_acquire() {
        permits.push(permit);
    }
    assert_eq!(permits.len(), places());
    let token = world.token("ana", NOW + 600);
    let began = Instant::now();
    assert_eq!(world.recognize(&token).await, Err(Unrecognized::Unavailable));
    let waited = began.elapsed();
    assert!((250..=255).contains(&waited.as_millis()), "{waited:?}");
    // What needs no signature needs no place: tokens that are known, and those that are wrong anyway.
    let began = Instant::now();
    world.recognize(&world.token("known", NOW + 600)).await.expect("a caller");
    let refusal = world.recognize(&world.token("ana", NOW - 60)).await;
    assert_eq!(refusal, Err(Unrecognized::Invalid("the token expired 60 seconds ago".into())));
    assert_eq!(began.elapsed(), Duration::ZERO);
    // The token was good, and is when it comes again.
    drop(permits.pop());
    assert_eq!(world.recognize(&token).await.as_deref(), Ok("agency:ana"));
}

#[tokio::test(start_paused = true)]
async fn a_token_whose_turn_comes_in_time_is_verified() {
    let world = Arc::new(World::new());
    let all = u32::try_from(places()).expect("a number");
    let permits = world.verifier.permits.acquire_many(all).await.expect("all places");
    let waiting: Vec<_> = (0..100)
        .map(|number| {
            let world = world.clone();
            tokio::spawn(async move {
                let token = world.token(&format!("p{number}"), NOW + 600);
                world.recognize(&token).await
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(240)).await;
    assert!(waiting.iter().all(|client| !client.is_finished()));
    drop(permits);
    for (number, client) in waiting.into_iter().enumerate() {
        assert_eq!(client.await.expect("a client"), Ok(format!("agency:p{number}")));
    }
    assert_eq!(world.verifier.permits.available_permits(), places());
}
