//! Nothing of a credential is logged, at any level, or repeated in a reason.

use std::io::Write;
use std::sync::{Arc, Mutex};

use identity_adapter::new_key;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Answer, Issuer, Signer, World};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("sound test data").extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn no_part_of_a_credential_is_logged_or_repeated() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let key = new_key("a", &[], None).expect("sound test data");
    // The mapping fails, with the claim in its reason.
    let claims = "  claims: {roles: \"[claims.sub, string(int(claims.jti))]\"}\n";
    let world = World::new(&format!("{}keys:\n{}\n", issuer.file(claims), key.line));
    let mut payload = issuer.payload();
    payload["jti"] = "secretclaim".into();
    let token = signer.signed(&payload);
    let mut reasons = vec![world.refusal(&token).await, world.refusal(&token[..200]).await];
    world.caller(&key.printed).await;
    reasons.push(world.refusal(&key.printed[..40]).await);
    issuer.set_configuration(Answer::of(500));
    world.advance(86_400);
    let other = signer.signed(&issuer.payload());
    reasons.push(world.refusal(&other).await);
    let log = String::from_utf8(log.0.lock().expect("sound test data").clone());
    let log = log.expect("sound test data");
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
