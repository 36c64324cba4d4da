//! Nothing of a credential is logged, at any level, or repeated in a reason.

use std::fs;
use std::sync::Arc;

use identity_adapter::new_key;
use serde_json::json;

use crate::support::{Answer, Issuer, Signer, World};

#[tokio::test]
async fn no_part_of_a_credential_is_logged_or_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(Arc::new(fs::File::create(&path).expect("a file")))
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let key = new_key("a", &[], None).expect("sound test data");
    // The mapping fails, with the claim in its reason.
    let claims = "  claims: {roles: \"[claims.sub, string(int(claims.jti))]\"}\n";
    let world = World::new(&format!("{}keys:\n{}\n", issuer.file(claims), key.line));
    let token = issuer.token_with(&signer, &json!({"jti": "secretclaim"}));
    let mut reasons = vec![world.refusal(&token).await, world.refusal(&token[..200]).await];
    world.caller(&key.printed).await;
    reasons.push(world.refusal(&key.printed[..40]).await);
    issuer.set_configuration(Answer::of(500));
    world.advance(86_400);
    let other = issuer.token(&signer);
    reasons.push(world.refusal(&other).await);
    let log = fs::read_to_string(path).expect("a log");
    assert!(log.contains("an expression of the identity file failed for a token"), "{log}");
    let written = format!("{log}{reasons:?}");
    let parts = token.split(['.', '_']).chain(other.split('.')).chain(key.printed.split('_'));
    for part in parts.filter(|part| part.len() > 8).chain(["secretclaim"]) {
        assert!(!written.contains(part), "{part} in {written}");
    }
    for window in token.as_bytes().windows(24).chain(key.printed.as_bytes().windows(24)) {
        assert!(!written.contains(std::str::from_utf8(window).expect("sound test data")));
    }
}
