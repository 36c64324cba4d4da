//! Callers of the service: an issuer that publishes its key, and the access tokens (RFC 9068) that it
//! gave them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

const CALLERS: usize = 1_000;

const AUDIENCE: &str = "benchmark";

const PATIENCE: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "no part of the service")]
pub(super) fn tokens(file: &Path) -> Result<Vec<String>> {
    let random = SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let generated = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(of_ring)?;
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, generated.as_ref(), &random).map_err(of_ring)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let issuer = format!("http://{}", listener.local_addr()?);
    // An uncompressed point: 4, x, y (SEC 1 section 2.3.3).
    let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
    let jwk = json!({"kty": "EC", "crv": "P-256", "kid": "1", "x": encode(x), "y": encode(y)});
    let keys = json!({"keys": [jwk]}).to_string();
    // It ends with the process.
    std::thread::spawn(move || publish(&listener, &keys));
    let settings = json!({"issuers": [{
        "name": "agency", "issuer": &issuer, "jwks_uri": format!("{issuer}/keys"),
        "audiences": [AUDIENCE], "claims": {"name": "claims.name", "roles": "claims.roles"},
    }]});
    std::fs::write(file, settings.to_string())?;
    let now = Timestamp::now().as_second();
    let signed = |number| {
        let head = json!({"alg": "ES256", "typ": "at+jwt", "kid": "1"});
        let claims = claims(&issuer, number, now);
        let content = format!("{}.{}", encode(head.to_string()), encode(claims.to_string()));
        let signature = pair.sign(&random, content.as_bytes()).map_err(of_ring)?;
        Ok(format!("{content}.{}", encode(signature)))
    };
    (0..CALLERS).map(signed).collect()
}

fn claims(issuer: &str, number: usize, now: i64) -> Value {
    json!({
        "iss": issuer, "aud": AUDIENCE, "sub": format!("caller-{number:036}"),
        "client_id": "explorer", "iat": now, "exp": now + 3_600 * 12, "jti": format!("{number:032}"),
        "name": format!("Caller Number {number}"), "roles": ["reviewer", "programme-officer"],
    })
}

fn publish(listener: &TcpListener, keys: &str) {
    for connection in listener.incoming().flatten() {
        if let Err(error) = answer(connection, keys) {
            eprintln!("the issuer could not answer: {error:#}");
        }
    }
}

fn answer(mut connection: TcpStream, keys: &str) -> Result<()> {
    connection.set_read_timeout(Some(PATIENCE))?;
    // A request for keys is one packet.
    let length = connection.read(&mut [0; 4_096]).context("no request")?;
    anyhow::ensure!(length > 0, "an empty request");
    write!(
        connection,
        "HTTP/1.1 200 OK\r\nContent-Type: application/jwk-set+json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{keys}",
        keys.len()
    )?;
    Ok(())
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The errors of ring say nothing but what kind they are.
fn of_ring(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot sign: {error}")
}
