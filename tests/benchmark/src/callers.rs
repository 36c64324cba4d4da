//! Callers of the service: an issuer that publishes its key, and the access tokens (RFC 9068) that it
//! gave them. Also a collector that accepts all traces and discards them.

use std::future::ready;
use std::path::Path;

use anyhow::{Result, anyhow};
use axum::Router;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;
use tokio::net::TcpListener;

pub(super) const CALLERS: usize = 1_000;

const AUDIENCE: &str = "benchmark";

/// The id of a caller.
pub(super) fn id(number: usize) -> String {
    format!("agency:{}", subject(number))
}

fn subject(number: usize) -> String {
    format!("caller-{number:036}")
}

/// Makes the tokens of this number of callers, and the file of identity that names their issuer.
#[expect(clippy::disallowed_methods, reason = "no part of the service")]
pub(super) async fn tokens(callers: usize, file: &Path) -> Result<Vec<String>> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let generated = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(of_ring)?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, generated.as_ref(), &random).map_err(of_ring)?;
    // An uncompressed point: 4, x, y (SEC 1 section 2.3.3).
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "1", "x": encode(x), "y": encode(y)});
    let keys = json!({ "keys": [jwk] }).to_string();
    let issuer = serve(Router::new().fallback(move || ready(keys.clone()))).await?;
    let settings = json!({"issuers": [{
        "name": "agency", "issuer": &issuer, "jwks_uri": format!("{issuer}/keys"),
        "audiences": [AUDIENCE], "claims": {"name": "claims.name", "roles": "claims.roles"},
    }]});
    std::fs::write(file, settings.to_string())?;
    let now = Timestamp::now().as_second();
    let signed = |number| {
        let head = json!({"alg": "ES256", "typ": "at+jwt", "kid": "1"});
        let claims = json!({
            "iss": issuer, "aud": AUDIENCE, "sub": subject(number),
            "client_id": "explorer", "iat": now, "exp": now + 3_600 * 12, "jti": format!("{number:032}"),
            "name": format!("Caller Number {number}"), "roles": ["reviewer", "programme-officer"],
        });
        let content = format!("{}.{}", encode(head.to_string()), encode(claims.to_string()));
        let signature = pair.sign(&random, content.as_bytes()).map_err(of_ring)?;
        Ok(format!("{content}.{}", encode(signature)))
    };
    (0..callers).map(signed).collect()
}

/// Starts a collector, and returns its URL.
pub(super) async fn collector() -> Result<String> {
    serve(Router::new().fallback(async |_: Bytes| {})).await
}

async fn serve(routes: Router) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(axum::serve(listener, routes).into_future());
    Ok(url)
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The errors of ring say nothing but what kind they are.
fn of_ring(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot sign: {error}")
}
