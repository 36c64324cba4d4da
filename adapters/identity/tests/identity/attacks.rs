//! Attacks on tokens, each made of a token that is accepted, with the reason of its refusal.

use Made::{Bytes, Claim, Header, RawHeader, RawPayload, Text, Unsigned, Without, WithoutHeader};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::support::{Issuer, NOW, Signer, World, encode, with};

/// How a token is made of one that is accepted.
#[derive(Clone, Copy)]
enum Made {
    /// A member of the header is this JSON.
    Header(&'static str, &'static str),
    WithoutHeader(&'static str),
    /// A claim is this JSON. `ISS` is the issuer, `NOW+n` a time.
    Claim(&'static str, &'static str),
    Without(&'static str),
    /// The header is this text, and the token is signed.
    RawHeader(&'static str),
    RawPayload(&'static str),
    /// The parts of the token are put together differently.
    Text(fn(&[&str; 3]) -> String),
    /// The bytes of the signature are these.
    Bytes(fn(Vec<u8>) -> Vec<u8>),
    /// `alg` is this JSON, and the signature is empty.
    Unsigned(&'static str),
}

const ALGORITHM: &str = "an algorithm that is not accepted";
const SIGNATURE: &str = "the token's signature is wrong";
const BASE64: &str = "base64url";
const PARTS: &str = "three parts";
const AUDIENCES: &str = "the token's `aud` is not a string or a list of strings";
const HEADER_JSON: &str = "the token's header is not JSON";
const PAYLOAD_JSON: &str = "the token's payload is not JSON";
const TWICE: &str = "the token's header has a duplicate member";
const UNKNOWN: &str = "a key that its issuer does not have";
const HEADER: &str = r#"{"alg":"ES256","typ":"at+jwt","kid":"ec","alg":"ES256"}"#;

const ESCAPED: &str = r#"{"alg":"none","typ":"at+jwt","kid":"ec","\u0061lg":"ES256"}"#;

const ATTACKS: &[(&str, Made, &str)] = &[
    ("none", Unsigned("\"none\""), "the token is not signed"),
    ("None", Unsigned("\"None\""), "the token is not signed"),
    ("none with a signature", Header("alg", "\"none\""), ALGORITHM),
    ("none and a space", Header("alg", "\"none \""), ALGORITHM),
    ("empty algorithm", Header("alg", "\"\""), ALGORITHM),
    ("HS256", Header("alg", "\"HS256\""), ALGORITHM),
    ("es256 in small letters", Header("alg", "\"es256\""), ALGORITHM),
    ("ES256K", Header("alg", "\"ES256K\""), ALGORITHM),
    ("RS512", Header("alg", "\"RS512\""), ALGORITHM),
    ("an algorithm that the issuer does not use", Header("alg", "\"EdDSA\""), ALGORITHM),
    ("algorithm of another key", Header("alg", "\"RS256\""), "does not name the key"),
    ("algorithm as a list", Header("alg", "[\"ES256\"]"), "`alg` of its header is not a string"),
    ("algorithm as null", Header("alg", "null"), "`alg` of its header is not a string"),
    ("no algorithm", WithoutHeader("alg"), "no `alg`"),
    // Headers that change how a token is read.
    ("crit", Header("crit", "[\"exp\"]"), "`crit`"),
    ("empty crit", Header("crit", "[]"), "`crit`"),
    ("crit as null", Header("crit", "null"), "`crit`"),
    ("b64 false", Header("b64", "false"), "`b64`"),
    ("b64 true", Header("b64", "true"), "`b64`"),
    ("compressed", Header("zip", "\"DEF\""), "compressed"),
    ("encrypted", Header("enc", "\"A128GCM\""), "encrypted"),
    ("an ID token", Header("typ", "\"JWT\""), "`typ` is not `at+jwt`"),
    ("a type with a parameter", Header("typ", "\"at+jwt; a=b\""), "`typ` is not `at+jwt`"),
    ("no type", WithoutHeader("typ"), "`typ` is not `at+jwt`"),
    ("type as a list", Header("typ", "[\"at+jwt\"]"), "`typ` of its header is not a string"),
    ("unknown key", Header("kid", "\"other\""), UNKNOWN),
    ("key in other letters", Header("kid", "\"EC\""), UNKNOWN),
    ("key with a zero byte", Header("kid", "\"ec\\u0000\""), UNKNOWN),
    ("empty key", Header("kid", "\"\""), UNKNOWN),
    ("key as null", Header("kid", "null"), "`kid` of its header is not a string"),
    ("key of another type", Header("kid", "\"rsa\""), "does not name the key"),
    ("no key where two fit", WithoutHeader("kid"), "does not name the key"),
    ("algorithm twice", RawHeader(HEADER), TWICE),
    ("it twice by an escape", RawHeader(ESCAPED), TWICE),
    ("header is a list", RawHeader("[]"), "the token's header is not a JSON object"),
    ("header is null", RawHeader("null"), "the token's header is not a JSON object"),
    ("header is empty", RawHeader(""), HEADER_JSON),
    ("header with a rest", RawHeader(r#"{"alg":"ES256"}{}"#), HEADER_JSON),
    ("issuer twice", RawPayload(r#"{"iss":"ISS","iss":"ISS"}"#), "payload has a duplicate member"),
    ("payload is a list", RawPayload("[]"), "the token's payload is not a JSON object"),
    ("payload is a token", RawPayload("e30.e30.AA"), PAYLOAD_JSON),
    ("payload is empty", RawPayload(""), PAYLOAD_JSON),
    ("no issuer", Without("iss"), "no `iss`"),
    ("issuer as a list", Claim("iss", "[\"ISS\"]"), "the token's `iss` is not a string"),
    ("issuer with a slash", Claim("iss", "\"ISS/\""), "not one of those known here"),
    ("issuer with a beginning", Claim("iss", "\"ISS.evil.example\""), "not one of those known"),
    ("another issuer", Claim("iss", "\"https://evil.example\""), "not one of those known here"),
    ("no audience", Without("aud"), "no `aud`"),
    ("audience as null", Claim("aud", "null"), AUDIENCES),
    ("audience of numbers", Claim("aud", "[5]"), AUDIENCES),
    ("mixed audiences", Claim("aud", "[\"https://proposals.example\",[]]"), AUDIENCES),
    ("audiences none", Claim("aud", "[]"), "another audience"),
    ("another audience", Claim("aud", "\"https://other.example\""), "another audience"),
    ("longer audience", Claim("aud", "\"https://proposals.example.evil\""), "another audience"),
    ("audience with a slash", Claim("aud", "\"https://proposals.example/\""), "another audience"),
    ("no end", Without("exp"), "no `exp`"),
    ("end as a string", Claim("exp", "\"NOW+600\""), "the token's `exp` is not a number"),
    ("end as null", Claim("exp", "null"), "the token's `exp` is not a number"),
    ("end in no time", Claim("exp", "1e400"), "the token's `exp` is not a number"),
    ("end before all times", Claim("exp", "-1"), "the token's `exp` is not a number"),
    ("end beyond all times", Claim("exp", "1e17"), "the token's `exp` is not a number"),
    ("end in milliseconds", Claim("exp", "1800000600000"), "the token's `exp` is not a number"),
    ("ended a minute ago", Claim("exp", "NOW-60"), "the token expired 60 seconds ago"),
    ("ended with the leeway", Claim("exp", "NOW-30"), "the token expired 30 seconds ago"),
    ("ends too late", Claim("exp", "NOW+86401"), "valid for longer than allowed"),
    ("no beginning", Without("iat"), "no `iat`"),
    ("issued as a string", Claim("iat", "\"NOW+0\""), "the token's `iat` is not a number"),
    ("issued in the future", Claim("iat", "NOW+31"), "issued in the future"),
    ("issued long ago", Claim("iat", "0"), "valid for longer than allowed"),
    ("not yet", Claim("nbf", "NOW+60"), "the token is not valid yet; retry in 60 seconds"),
    ("not before as a string", Claim("nbf", "\"0\""), "the token's `nbf` is not a number"),
    ("not before as null", Claim("nbf", "null"), "the token's `nbf` is not a number"),
    ("bound to a key", Claim("cnf", "{\"jkt\":\"x\"}"), "`cnf`"),
    ("bound to nothing", Claim("cnf", "null"), "`cnf`"),
    ("subject as a number", Claim("sub", "7"), "the token's `sub` is not a string"),
    ("empty subject", Claim("sub", "\"\""), "the token's subject is empty"),
    ("subject with a line", Claim("sub", "\"ana\\nbob\""), "control character"),
    ("no subject", Without("sub"), "no `sub`"),
    ("client as a list", Claim("client_id", "[\"portal\"]"), "`client_id` is not a string"),
    ("two clients", Claim("azp", "\"other\""), "differ"),
    ("another client", Claim("client_id", "\"other\""), "the token's client is not accepted"),
    ("no client", Without("client_id"), "the token's client is not accepted"),
    ("scope as a list", Claim("scope", "[\"proposals.write\"]"), "`scope` is not a string"),
    ("actor as a string", Claim("act", "\"robot\""), "the token's `act` is not an object"),
    ("actor without a name", Claim("act", "{}"), "`act` has no string `sub`"),
    ("other actor", Claim("act", "{\"sub\":\"a\",\"iss\":\"x\"}"), "another issuer"),
    ("dots only", Text(|_| "..".to_owned()), "the token is not signed"),
    ("one part", Text(|[header, ..]| (*header).to_owned()), PARTS),
    ("two parts", Text(|[header, payload, _]| format!("{header}.{payload}")), PARTS),
    ("four parts", Text(|parts| format!("{}.x", parts.join("."))), PARTS),
    ("a dot more", Text(|parts| format!("{}.", parts.join("."))), PARTS),
    ("no signature", Text(|[header, payload, _]| format!("{header}.{payload}.")), "not signed"),
    ("padding", Text(|parts| format!("{}=", parts.join("."))), BASE64),
    ("padding of the header", Text(|[h, p, s]| format!("{h}==.{p}.{s}")), BASE64),
    ("a space", Text(|[h, p, s]| format!("{h}.{p} .{s}")), BASE64),
    ("a line", Text(|[h, p, s]| format!("{h}.{p}.{s}\n")), BASE64),
    ("the other base64", Text(|[h, p, s]| format!("{h}.{p}.+{}", &s[1..])), BASE64),
    ("spare bits", Text(|[h, p, s]| format!("{h}.{p}.{}", spare_bits(s))), BASE64),
    ("a letter more", Text(|parts| format!("{}A", parts.join("."))), SIGNATURE),
    ("a letter beyond ASCII", Text(|[h, p, s]| format!("{h}.{p}.é{s}")), BASE64),
    ("longer than any", Text(|[h, p, s]| format!("{h}.{}{p}.{s}", "A".repeat(8 << 10))), "8192"),
    ("a long header", Text(|[_, p, s]| format!("{}.{p}.{s}", "A".repeat(1_400))), "1024"),
    ("all zero", Bytes(|bytes| vec![0; bytes.len()]), SIGNATURE),
    ("r is zero", Bytes(|bytes| [&[0; 32], &bytes[32..]].concat()), SIGNATURE),
    ("s is zero", Bytes(|bytes| [&bytes[..32], &[0; 32]].concat()), SIGNATURE),
    ("r and s exchanged", Bytes(|bytes| [&bytes[32..], &bytes[..32]].concat()), SIGNATURE),
    ("a byte more", Bytes(|bytes| [&bytes[..], &[0]].concat()), SIGNATURE),
    ("a byte less", Bytes(|bytes| bytes[1..].to_vec()), SIGNATURE),
    (
        "as DER",
        Bytes(|bytes| [&[0x30, 0x44, 2, 0x20], &bytes[..32], &[2, 0x20], &bytes[32..]].concat()),
        SIGNATURE,
    ),
    ("another payload", Text(|[h, p, s]| format!("{h}.{}.{s}", another(p))), SIGNATURE),
];

/// The last letter of a signature of 64 bytes has four spare bits.
fn spare_bits(signature: &str) -> String {
    let (rest, last) = signature.split_at(signature.len() - 1);
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let next = letters.find(last).expect("base64url") + 1;
    format!("{rest}{}", &letters[next..=next])
}

fn another(payload: &str) -> String {
    let bytes = URL_SAFE_NO_PAD.decode(payload).expect("sound test data");
    encode(String::from_utf8(bytes).expect("sound test data").replace("\"ana\"", "\"bob\""))
}

fn changed(mut object: Value, name: &str, json: Option<&str>, iss: &str) -> String {
    let Some(json) = json else {
        object.as_object_mut().expect("an object").remove(name);
        return object.to_string();
    };
    // Numbers may be none that serde_json knows.
    object[name] = "PUT".into();
    object.to_string().replace("\"PUT\"", &filled(json, iss))
}

/// JSON in which `ISS` is the issuer, and `NOW+n` a time.
pub fn filled(json: &str, iss: &str) -> String {
    let mut filled = json.replace("ISS", iss);
    while let Some(at) = filled.find("NOW") {
        let rest = &filled[at + 3..];
        let end =
            rest[1..].find(|next: char| !next.is_ascii_digit()).map_or(rest.len(), |end| end + 1);
        let offset: i64 = rest[..end].parse().expect("sound test data");
        filled = format!("{}{}{}", &filled[..at], NOW + offset, &rest[end..]);
    }
    filled
}

fn made(made: Made, signer: &Signer, issuer: &Issuer) -> String {
    let iss = &*issuer.url;
    let (header, payload) = (signer.header(), issuer.payload());
    let with_header = |header: String| signer.token(&header, &payload.to_string());
    let with_payload = |payload: String| signer.token(&header.to_string(), &payload);
    let token = issuer.token(signer);
    let parts: Vec<_> = token.split('.').collect();
    let parts = <[&str; 3]>::try_from(parts).expect("sound test data");
    match made {
        Header(name, json) => with_header(changed(header.clone(), name, Some(json), iss)),
        WithoutHeader(name) => with_header(changed(header.clone(), name, None, iss)),
        Claim(name, json) => with_payload(changed(payload.clone(), name, Some(json), iss)),
        Without(name) => with_payload(changed(payload.clone(), name, None, iss)),
        RawHeader(text) => with_header(text.to_owned()),
        RawPayload(text) => with_payload(filled(text, iss)),
        Text(change) => change(&parts),
        Bytes(change) => {
            let message = format!("{}.{}", parts[0], parts[1]);
            format!("{message}.{}", encode(change(signer.sign(message.as_bytes()))))
        }
        Unsigned(algorithm) => {
            let header = changed(header.clone(), "alg", Some(algorithm), iss);
            format!("{}.{}.", encode(header), encode(payload.to_string()))
        }
    }
}

#[tokio::test]
async fn each_attack_is_refused_for_its_reason() {
    assert!(ATTACKS.len() >= 100, "{}", ATTACKS.len());
    let (signer, second) = (Signer::new("ES256", "ec"), Signer::new("ES256", "second"));
    let rsa = Signer::new("RS256", "rsa");
    let issuer = Issuer::start(&[&signer, &second, &rsa]).await;
    let world = issuer.world("  algorithms: [ES256, RS256]\n  clients: [portal]\n");
    world.caller(&issuer.token(&signer)).await;
    for (name, attack, expected) in ATTACKS {
        let token = made(*attack, &signer, &issuer);
        let refusal = world.refusal(&token).await;
        assert!(refusal.contains(expected), "{name}: {refusal}");
        let parts = token.split('.').filter(|part| part.len() > 16);
        assert!(parts.into_iter().all(|part| !refusal.contains(part)), "{name}: {refusal}");
    }
    world.caller(&issuer.token(&signer)).await;
}

#[tokio::test]
async fn a_key_that_a_token_brings_along_signs_nothing() {
    let (signer, own) = (Signer::new("ES256", "ec"), Signer::new("ES256", "ec"));
    let issuer = Issuer::start(&[&signer]).await;
    let evil = Issuer::start(&[&own]).await;
    let world = issuer.world("");
    world.caller(&issuer.token(&signer)).await;
    for (name, value) in [
        ("jwk", own.jwk()),
        ("jku", json!(format!("{}/keys", evil.url))),
        ("x5u", json!(format!("{}/keys", evil.url))),
        ("x5c", json!(["MIIB"])),
        ("x5t", json!("AA")),
    ] {
        let header = with(&own.header(), &json!({name: value}));
        let token = own.token(&header.to_string(), &issuer.payload().to_string());
        assert_eq!(world.refusal(&token).await, SIGNATURE, "{name}");
    }
    assert_eq!(evil.key_fetches() + evil.configuration_fetches(), 0);
}

#[tokio::test]
async fn a_public_key_is_not_a_shared_secret() {
    let rsa = Signer::new("RS256", "rsa");
    let issuer = Issuer::start(&[&rsa]).await;
    let world = issuer.world("");
    world.caller(&issuer.token(&rsa)).await;
    let secret = rsa.jwk()["n"].as_str().expect("sound test data").to_owned();
    for algorithm in ["HS256", "HS384", "HS512"] {
        let header = json!({"alg": algorithm, "typ": "at+jwt", "kid": "rsa"}).to_string();
        let message = format!("{}.{}", encode(header), encode(issuer.payload().to_string()));
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret.as_bytes());
        let token = format!("{message}.{}", encode(ring::hmac::sign(&key, message.as_bytes())));
        assert!(world.refusal(&token).await.contains(ALGORITHM));
    }
}

#[tokio::test]
async fn a_token_of_one_issuer_is_not_signed_by_another() {
    let (first, second) = (Signer::new("ES256", "k"), Signer::new("ES256", "k"));
    let (ours, theirs) = (Issuer::start(&[&first]).await, Issuer::start(&[&second]).await);
    let file = format!(
        "{}- name: other\n  issuer: {}\n  audiences: [https://elsewhere.example]\n",
        ours.file(""),
        theirs.url
    );
    let world = World::new(&file);
    assert_eq!(&*world.caller(&ours.token(&first)).await.id, "agency:ana");
    assert_eq!(world.refusal(&ours.token(&second)).await, SIGNATURE);
    // Its own tokens are for whom it may speak to.
    assert!(world.refusal(&theirs.token(&second)).await.contains("another audience"));
    let token = theirs.token_with(&second, &json!({"aud": "https://elsewhere.example"}));
    assert_eq!(&*world.caller(&token).await.id, "other:ana");
}
