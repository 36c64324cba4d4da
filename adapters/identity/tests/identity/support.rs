//! A clock that is moved by hand, keys that sign, and an issuer whose answers are set.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use application::{Clock, Identity, Unrecognized};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::Principal;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use identity_adapter::ReloadableIdentity;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaEncoding,
    RsaKeyPair,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::FILE;
use crate::files::folder;

/// The time of all tests, in seconds since 1970.
pub const NOW: i64 = 1_800_000_000;
/// The base URL of the service.
pub const AUDIENCE: &str = "https://proposals.example";

pub struct TestClock(Mutex<Timestamp>);

impl TestClock {
    pub fn start() -> Self {
        Self(Mutex::new(Timestamp::from_second(NOW).expect("sound test data")))
    }

    pub fn advance(&self, by: SignedDuration) {
        let mut now = self.0.lock().expect("sound test data");
        *now = now.checked_add(by).expect("sound test data");
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("sound test data")
    }

    fn day_of(&self, time: Timestamp) -> Date {
        time.to_zoned(TimeZone::UTC).date()
    }
}

pub struct Signer {
    pub algorithm: &'static str,
    pub id: String,
    public: Value,
    signature: Box<Signature>,
}

type Signature = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

fn rsa(padding: &'static dyn RsaEncoding) -> (Value, Box<Signature>) {
    let key = RsaKeyPair::from_pkcs8(include_bytes!("rsa.pk8")).expect("RSA");
    let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
    let public = json!({"kty": "RSA", "n": encode(public.n), "e": encode(public.e)});
    let sign = move |message: &[u8]| {
        let mut signature = vec![0; key.public().modulus_len()];
        let signed = key.sign(padding, &SystemRandom::new(), message, &mut signature);
        signed.expect("sound test data");
        signature
    };
    (public, Box::new(sign))
}

fn ec(name: &str, curve: &'static EcdsaSigningAlgorithm) -> (Value, Box<Signature>) {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(curve, &random).expect("sound test data");
    let key = EcdsaKeyPair::from_pkcs8(curve, document.as_ref(), &random).expect("sound test data");
    let point = &key.public_key().as_ref()[1..];
    let (x, y) = point.split_at(point.len() / 2);
    let public = json!({"kty": "EC", "crv": name, "x": encode(x), "y": encode(y)});
    let sign =
        move |message: &[u8]| key.sign(&random, message).expect("a signature").as_ref().into();
    (public, Box::new(sign))
}

fn ed25519() -> (Value, Box<Signature>) {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("sound test data");
    let key = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("sound test data");
    let public = json!({"kty": "OKP", "crv": "Ed25519", "x": encode(key.public_key())});
    (public, Box::new(move |message| key.sign(message).as_ref().into()))
}

impl Signer {
    pub fn new(algorithm: &'static str, id: &str) -> Self {
        let (public, signature) = match algorithm {
            "RS256" => rsa(&RSA_PKCS1_SHA256),
            "PS256" => rsa(&RSA_PSS_SHA256),
            "ES256" => ec("P-256", &ECDSA_P256_SHA256_FIXED_SIGNING),
            "ES384" => ec("P-384", &ECDSA_P384_SHA384_FIXED_SIGNING),
            _ => ed25519(),
        };
        Self { algorithm, id: id.to_owned(), public, signature }
    }

    /// The key as it is published, for this algorithm only.
    pub fn jwk(&self) -> Value {
        with(&self.public, &json!({"alg": self.algorithm, "kid": self.id, "use": "sig"}))
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        (self.signature)(message)
    }

    pub fn token(&self, header: &str, payload: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(payload));
        format!("{message}.{}", encode(self.sign(message.as_bytes())))
    }

    pub fn signed(&self, payload: &Value) -> String {
        self.token(&self.header().to_string(), &payload.to_string())
    }

    /// A header by RFC 9068.
    pub fn header(&self) -> Value {
        json!({"alg": self.algorithm, "typ": "at+jwt", "kid": self.id})
    }
}

/// A copy of an object with these members added or replaced.
pub fn with(object: &Value, members: &Value) -> Value {
    let mut changed = object.clone();
    for (name, value) in members.as_object().expect("an object") {
        changed[name] = value.clone();
    }
    changed
}

pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub delay: Duration,
}

impl Answer {
    pub fn json(value: &Value) -> Self {
        let body = value.to_string().into_bytes();
        Self { status: 200, headers: Vec::new(), body, delay: Duration::ZERO }
    }

    pub fn of(status: u16) -> Self {
        Self { status, ..Self::json(&json!({})) }
    }
}

pub struct Issuer {
    pub url: String,
    configuration: Arc<Mutex<Answer>>,
    keys: Arc<Mutex<Answer>>,
    /// How often its keys were fetched, and its configuration.
    fetches: Arc<[AtomicUsize; 2]>,
}

impl Issuer {
    pub async fn start(signers: &[&Signer]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("sound test data");
        let url = format!("http://{}", listener.local_addr().expect("sound test data"));
        let configuration = Arc::new(Mutex::new(Answer::json(&configuration_of(&url))));
        let keys = Arc::new(Mutex::new(jwks(signers)));
        let fetches = Arc::<[AtomicUsize; 2]>::default();
        let issuer = Self { url, configuration, keys, fetches };
        let shared = (issuer.configuration.clone(), issuer.keys.clone(), issuer.fetches.clone());
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("sound test data");
                let shared = shared.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let (configuration, keys, fetches) = shared.clone();
                    async move {
                        let is_keys = request.uri().path() == "/keys";
                        fetches[usize::from(!is_keys)].fetch_add(1, Ordering::SeqCst);
                        let answer = if is_keys { keys } else { configuration };
                        let answer = answer.lock().expect("sound test data").clone();
                        tokio::time::sleep(answer.delay).await;
                        let mut response = Response::builder().status(answer.status);
                        for (name, value) in answer.headers {
                            response = response.header(name, value);
                        }
                        let body = Full::new(Bytes::from(answer.body));
                        Ok::<_, Infallible>(response.body(body).expect("sound test data"))
                    }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        issuer
    }

    pub fn set_configuration(&self, answer: Answer) {
        *self.configuration.lock().expect("sound test data") = answer;
    }

    pub fn set_keys(&self, answer: Answer) {
        *self.keys.lock().expect("sound test data") = answer;
    }

    pub fn key_fetches(&self) -> usize {
        self.fetches[0].load(Ordering::SeqCst)
    }

    pub fn configuration_fetches(&self) -> usize {
        self.fetches[1].load(Ordering::SeqCst)
    }

    /// The payload of a token that is accepted.
    pub fn payload(&self) -> Value {
        json!({
            "iss": self.url, "sub": "ana", "aud": AUDIENCE, "exp": NOW + 600, "iat": NOW,
            "client_id": "portal", "scope": "proposals.read",
        })
    }

    /// A token that is accepted.
    pub fn token(&self, signer: &Signer) -> String {
        signer.signed(&self.payload())
    }

    pub fn token_with(&self, signer: &Signer, claims: &Value) -> String {
        signer.signed(&with(&self.payload(), claims))
    }

    /// A service that knows this issuer, with some lines more.
    pub fn world(&self, lines: &str) -> World {
        World::new(&self.file(lines))
    }

    /// The element of `issuers` for it, with some lines more.
    pub fn file(&self, lines: &str) -> String {
        format!("issuers:\n- name: agency\n  issuer: {}\n{lines}", self.url)
    }
}

/// The document that says where the keys of an issuer are.
pub fn configuration_of(url: &str) -> Value {
    json!({"issuer": url, "jwks_uri": format!("{url}/keys")})
}

pub fn jwks(signers: &[&Signer]) -> Answer {
    let keys: Vec<_> = signers.iter().map(|signer| signer.jwk()).collect();
    Answer::json(&json!({"keys": keys}))
}

pub struct World {
    pub clock: Arc<TestClock>,
    pub identity: Arc<ReloadableIdentity>,
    pub path: PathBuf,
    _folder: TempDir,
}

impl World {
    pub fn new(file: &str) -> Self {
        let folder = folder(&[(FILE, file)]);
        let path = folder.path().join(FILE);
        let clock = Arc::new(TestClock::start());
        let identity = ReloadableIdentity::open(&path, clock.clone(), AUDIENCE);
        let identity = Arc::new(identity.unwrap_or_else(|errors| panic!("{errors}")));
        Self { clock, identity, path, _folder: folder }
    }

    pub fn rewrite(&self, file: &str) {
        std::fs::write(&self.path, file).expect("sound test data");
    }

    pub async fn caller(&self, token: &str) -> Arc<Principal> {
        let caller = self.identity.recognize(token).await;
        caller.unwrap_or_else(|refused| panic!("{refused:?}"))
    }

    pub async fn refusal(&self, token: &str) -> String {
        match self.identity.recognize(token).await {
            Err(Unrecognized::Invalid(reason)) => reason.into_owned(),
            Err(Unrecognized::Unavailable) => "unavailable".to_owned(),
            Ok(caller) => format!("accepted as {}", caller.id),
        }
    }

    pub async fn until_refusal(&self, token: &str, expected: &str) {
        let mut refusal = self.refusal(token).await;
        for _ in 0..100 {
            if refusal == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            refusal = self.refusal(token).await;
        }
        assert_eq!(refusal, expected);
    }

    /// How many verified tokens and how many refusals are remembered.
    pub fn remembered(&self) -> [usize; 2] {
        let described = format!("{:?}", self.identity);
        // Others have counts of these names; those of what is remembered are numbers side by side.
        let counts = described.split("verified: ").find(|rest| rest.starts_with(char::is_numeric));
        let mut numbers = counts.expect("counts").split(|letter: char| !letter.is_ascii_digit());
        let mut number = || numbers.find_map(|digits| digits.parse().ok()).expect("a number");
        [number(), number()]
    }

    pub fn advance(&self, seconds: i64) {
        self.clock.advance(SignedDuration::from_secs(seconds));
    }
}

/// An issuer with one key, and a service that knows it, with some lines more.
pub async fn known_issuer(lines: &str) -> (Signer, Issuer, World) {
    let signer = Signer::new("ES256", "k");
    let issuer = Issuer::start(&[&signer]).await;
    let world = issuer.world(lines);
    (signer, issuer, world)
}

pub async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..500 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} did not happen");
}
