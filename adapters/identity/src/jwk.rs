//! Published keys of issuers (RFC 7517), and the selection of usable ones.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::{Members, Value, json};
use jsonwebtoken::DecodingKey;

use crate::token::{Algorithm, KeyType, TokenHeader};

const MOST_KEYS: usize = 64;
const RSA_BITS: std::ops::RangeInclusive<usize> = 2_048..=8_192;
const ROCA_PRIMES: [u32; 16] =
    [11, 13, 17, 19, 37, 53, 61, 71, 73, 79, 97, 103, 107, 109, 127, 151];
/// Members of private and symmetric keys, which must never be published.
const SECRET_MEMBERS: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

#[derive(Debug)]
pub(crate) struct KeySet {
    keys: Vec<VerificationKey>,
    text: String,
    pub warnings: Vec<String>,
}

#[derive(Debug)]
struct VerificationKey {
    id: Option<String>,
    family: KeyType,
    algorithm: Option<Algorithm>,
    public: DecodingKey,
}

#[derive(Debug)]
pub(crate) enum FoundKey<'a> {
    Key(&'a DecodingKey),
    /// No key has this id. It may be a new key.
    Unknown,
    /// The key does not fit the algorithm, or several keys match a token without `kid`.
    Unfit,
}

impl KeySet {
    pub fn read(document: &[u8]) -> Result<Self, String> {
        let read =
            json::read(document).map_err(|error| format!("its keys are not JSON: {error}"))?;
        let listed = read.value().member("keys").and_then(Value::elements);
        let listed = listed.ok_or("its keys are not a JWK Set (RFC 7517)")?;
        if listed.clone().count() > MOST_KEYS {
            return Err(format!("it has more than {MOST_KEYS} keys"));
        }
        let (mut keys, mut warnings) = (Vec::new(), Vec::new());
        let mut ids = Vec::new();
        for (index, jwk) in listed.enumerate() {
            let id = jwk.member("kid").and_then(Value::as_string).map(Cow::into_owned);
            ids.extend(id.clone());
            match VerificationKey::read(jwk, id) {
                Ok(key) => keys.extend(key),
                Err(reason) => warnings.push(format!("key {} is ignored: {reason}", index + 1)),
            }
        }
        let is_twice = |id: &str| ids.iter().filter(|other| *other == id).count() > 1;
        let before = keys.len();
        keys.retain(|key: &VerificationKey| !key.id.as_deref().is_some_and(is_twice));
        if keys.len() < before {
            warnings.push("keys with the same `kid` are ignored".to_owned());
        }
        Ok(Self { keys, text: read.text, warnings })
    }

    pub fn is_same(&self, other: &Self) -> bool {
        self.text == other.text
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn find(&self, header: &TokenHeader) -> FoundKey<'_> {
        let mut fitting = self.keys.iter().filter(|key| key.fits(header.algorithm));
        match &header.key_id {
            Some(id) => match fitting.find(|key| key.id.as_ref() == Some(id)) {
                Some(key) => FoundKey::Key(&key.public),
                None if self.keys.iter().any(|key| key.id.as_ref() == Some(id)) => FoundKey::Unfit,
                None => FoundKey::Unknown,
            },
            None => match (fitting.next(), fitting.next()) {
                (Some(key), None) => FoundKey::Key(&key.public),
                (Some(_), Some(_)) => FoundKey::Unfit,
                (None, _) => FoundKey::Unknown,
            },
        }
    }
}

impl VerificationKey {
    fn fits(&self, algorithm: Algorithm) -> bool {
        self.family == algorithm.key_type() && self.algorithm.is_none_or(|own| own == algorithm)
    }

    fn read(jwk: Value<'_>, id: Option<String>) -> Result<Option<Self>, &'static str> {
        let members = Members::from_value(jwk).ok().flatten().ok_or("it is not an object")?;
        let string = |name: &str| match members.get(name) {
            Some(value) => value.as_string().map(Some).ok_or("a member of it is not a string"),
            None => Ok(None),
        };
        // A `kid` of another type is invalid.
        string("kid")?;
        let kty = string("kty")?.ok_or("it has no `kty`")?;
        if kty == "oct" || SECRET_MEMBERS.iter().any(|name| members.get(name).is_some()) {
            return Err("it is a secret, and must not be published");
        }
        if string("use")?.is_some_and(|purpose| purpose != "sig") || !may_verify(&members)? {
            return Ok(None);
        }
        let algorithm = match string("alg")? {
            None => None,
            Some(name) => match Algorithm::named(&name) {
                None => return Ok(None),
                known => known,
            },
        };
        let bytes = |name: &str| {
            let letters = string(name)?.ok_or("a part of it is missing")?;
            URL_SAFE_NO_PAD.decode(&*letters).map_err(|_| "a part of it is not base64url")
        };
        let curve = string("crv")?;
        let (family, public) = match (&*kty, curve.as_deref()) {
            ("RSA", _) => (KeyType::Rsa, rsa(&bytes("n")?, &bytes("e")?)?),
            ("EC", Some("P-256")) => (KeyType::P256, point(&bytes("x")?, &bytes("y")?, 32)?),
            ("EC", Some("P-384")) => (KeyType::P384, point(&bytes("x")?, &bytes("y")?, 48)?),
            ("OKP", Some("Ed25519")) => match bytes("x")? {
                x if x.len() == 32 => (KeyType::Ed25519, DecodingKey::from_ed_der(&x)),
                _ => return Err("its `x` has the wrong length"),
            },
            _ => return Ok(None),
        };
        let is_at_odds = algorithm.is_some_and(|algorithm| algorithm.key_type() != family);
        if is_at_odds {
            return Err("its `alg` does not match its type");
        }
        Ok(Some(Self { id, family, algorithm, public }))
    }
}

fn may_verify(members: &Members) -> Result<bool, &'static str> {
    let Some(operations) = members.get("key_ops") else { return Ok(true) };
    let mut operations = operations.elements().ok_or("its `key_ops` is not a list")?;
    Ok(operations.any(|operation| operation.as_string().as_deref() == Some("verify")))
}

fn rsa(modulus: &[u8], exponent: &[u8]) -> Result<DecodingKey, &'static str> {
    let Some(zeros) = modulus.first().map(|first| first.leading_zeros() as usize) else {
        return Err("its modulus is empty");
    };
    if zeros == 8 || !RSA_BITS.contains(&(modulus.len() * 8 - zeros)) {
        return Err("its modulus does not have 2,048 to 8,192 bits");
    }
    // An exponent of 1 would make every message its own signature.
    let is_sound = match exponent {
        [] | [0, ..] => false,
        [only] => *only >= 3 && only % 2 == 1,
        [.., last] => last % 2 == 1,
    };
    if !is_sound {
        return Err("its exponent is not an odd number of at least 3");
    }
    if has_known_primes(modulus) {
        return Err("it was generated by hardware with a known weakness (CVE-2017-15361)");
    }
    Ok(DecodingKey::from_rsa_raw_components(modulus, exponent))
}

/// Returns whether a modulus has the form of ROCA keys (CVE-2017-15361): it is a power of 65537
/// modulo each small prime. One in 2^27 other keys matches too.
fn has_known_primes(modulus: &[u8]) -> bool {
    ROCA_PRIMES.into_iter().all(|prime| {
        let residue = modulus.iter().fold(0, |rest, byte| (rest * 256 + u32::from(*byte)) % prime);
        let next = |power: &u32| Some(power * (65_537 % prime) % prime);
        std::iter::successors(Some(1), next).take(prime as usize).any(|power| power == residue)
    })
}

/// Builds an uncompressed point (SEC 1 section 2.3.3). Each verification checks that it is on the
/// curve.
fn point(x: &[u8], y: &[u8], length: usize) -> Result<DecodingKey, &'static str> {
    if x.len() != length || y.len() != length {
        return Err("its `x` or `y` has the wrong length");
    }
    Ok(DecodingKey::from_ec_der(&[&[4], x, y].concat()))
}
