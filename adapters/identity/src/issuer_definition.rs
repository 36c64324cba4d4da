//! Converts an element of `issuers:` to an issuer.

use std::path::Path;
use std::sync::Arc;

use domain::{Operation, Operations, Principal};
use jiff::SignedDuration;
use language::error::ErrorCollector;
use language::expression::{ANY, BOOLEAN, Expression, Kinds, LIST, NULL, STRING, Variables};
use language::keys::{self, Keys};
use language::yaml::{Node, Scalar};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::fetch::address;
use crate::file_format::{CLAIMS, ISSUER, OPERATIONS, REQUIRE};
use crate::issuer::{Issuer, TokenType};
use crate::issuer_keys::KeySource;
use crate::key_definition::misnamed;
use crate::machine_key::is_name;
use crate::mapping::{ClaimMapping, Requirement};
use crate::token::{Algorithm, TokenConditions};

/// Prefixes of ids that the service itself uses.
const RESERVED_NAMES: [&str; 3] = ["key", "service", "rules"];

type DurationKey = (&'static str, [i64; 3]);

const DAY: i64 = 24 * 60 * 60;
const LEEWAY: DurationKey = ("leeway", [30, 0, 5 * 60]);
const LIFETIME: DurationKey = ("longest_lifetime", [DAY, 60, 366 * DAY]);
const HOLD: DurationKey = ("keys_hold", [DAY, 10 * 60, 30 * DAY]);

/// Reads an element of `issuers`. Relative paths start at the folder of the file.
pub(crate) fn read(node: &Node, base_url: &str, errors: &mut ErrorCollector<'_>) -> Option<Issuer> {
    let before = errors.count();
    let keys = Keys::of(node, &ISSUER, Some(&[]), errors)?;
    check_name(&keys, errors);
    for key in ["issuer", "jwks_uri"] {
        check_url(&keys, key, errors);
    }
    let strings = |key: &str| {
        let texts = keys.elements(key).iter().filter_map(|node| node.scalar());
        texts.map(|scalar| scalar.text.as_str().into()).collect::<Box<[Box<str>]>>()
    };
    for key in ["audiences", "algorithms", "clients"] {
        if let Some(list) = keys.get(key).filter(|_| keys.elements(key).is_empty()) {
            let reason = format!(
                "`{key}` is empty, so every token would be refused; add a value or remove the key"
            );
            errors.add(list.place, reason);
        }
    }
    let audiences = match keys.get("audiences") {
        Some(_) => strings("audiences"),
        None => Box::from([base_url.into()]),
    };
    let algorithms = match keys.get("algorithms") {
        Some(_) => strings("algorithms").iter().filter_map(|name| Algorithm::named(name)).collect(),
        None => Algorithm::ALL.to_vec(),
    };
    let source = Arc::new(KeySource {
        issuer: keys.string("issuer").unwrap_or_default().into(),
        jwks_uri: keys.string("jwks_uri").map(Into::into),
        authorities: authorities(&keys, errors),
        hold: duration(&keys, HOLD, errors),
    });
    let issuer = Issuer {
        name: keys.string("name").unwrap_or_default().into(),
        token_type: match keys.string("token_type") {
            Some("jwt") => TokenType::Jwt,
            _ => TokenType::AccessToken,
        },
        algorithms,
        conditions: TokenConditions {
            audiences,
            clients: keys.get("clients").map(|_| strings("clients")),
            leeway: duration(&keys, LEEWAY, errors),
            longest_lifetime: duration(&keys, LIFETIME, errors),
        },
        swagger_client: keys.string("swagger_client").map(Into::into),
        mapping: mapping(&keys, errors),
        scopes: keys.get("scopes").map(|node| scopes(node, errors)),
        source,
    };
    (errors.count() == before).then_some(issuer)
}

fn check_name(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) {
    let Some(name) = keys.scalar("name") else { return };
    if !is_name(&name.text) {
        errors.add(name.place, misnamed("issuer", &name.text));
    } else if RESERVED_NAMES.contains(&name.text.as_str()) {
        let reason = format!(
            "ids with `{}:` are reserved for the service's own callers; choose another name",
            name.text
        );
        errors.add(name.place, reason);
    }
}

fn check_url(keys: &Keys<'_>, key: &str, errors: &mut ErrorCollector<'_>) {
    let Some(url) = keys.scalar(key) else { return };
    if let Err(reason) = address(&url.text) {
        errors.add(url.place, format!("`{key}` {reason}"));
    } else if key == "issuer" && url.text.contains(['?', '#']) {
        errors.add(
            url.place,
            "an issuer's URL must not contain `?` or `#`; write it exactly as in its tokens",
        );
    }
}

fn duration(
    keys: &Keys<'_>,
    (key, seconds): DurationKey,
    errors: &mut ErrorCollector<'_>,
) -> SignedDuration {
    let [default, shortest, longest] = seconds.map(SignedDuration::from_secs);
    let Some(scalar) = keys.scalar(key) else { return default };
    let reason = match scalar.text.parse() {
        Ok(duration) if (shortest..=longest).contains(&duration) => return duration,
        Ok(_) => format!("`{key}` must be from {shortest:#} to {longest:#}"),
        Err(_) => format!("`{key}` must be a duration such as 30s, 5m or 24h"),
    };
    errors.add(scalar.place, reason);
    default
}

fn authorities(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> Vec<CertificateDer<'static>> {
    let Some(path) = keys.scalar("ca") else { return Vec::new() };
    let folder = Path::new(&**errors.file()).parent().unwrap_or(Path::new(""));
    let read = CertificateDer::pem_file_iter(folder.join(&path.text));
    let read = read.and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let reason = match read {
        Ok(authorities) if !authorities.is_empty() => return authorities,
        Ok(_) => {
            let blocks = "PEM blocks that begin with -----BEGIN CERTIFICATE-----";
            format!("`ca` names a file without certificates; it must contain {blocks}")
        }
        Err(error) => format!("`ca` names a file that cannot be read: {error}"),
    };
    errors.add(path.place, reason);
    Vec::new()
}

fn mapping(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> ClaimMapping {
    let mut mapping = ClaimMapping::default();
    for node in keys.elements("require") {
        let Some(keys) = Keys::of(node, &REQUIRE, Some(&[]), errors) else { continue };
        let check = keys.scalar("check").and_then(|check| compile(check, BOOLEAN, errors));
        let message = keys.string("message").map(|message| message.trim_end().into());
        mapping
            .require
            .extend(check.zip(message).map(|(check, message)| Requirement { check, message }));
    }
    let Some(node) = keys.get("claims") else { return mapping };
    let Some(keys) = Keys::of(node, &CLAIMS, Some(&[]), errors) else { return mapping };
    let mut compiled = |key, wanted| compile(keys.scalar(key)?, wanted, errors);
    mapping.id = compiled("id", STRING);
    mapping.name = compiled("name", STRING.or(NULL));
    mapping.roles = compiled("roles", LIST);
    let entries = keys.get("attributes").map(|node| keys::entries(node, "`attributes`"));
    for entry in entries.and_then(|entries| errors.take(entries)).unwrap_or_default() {
        let key = &entry.key;
        if Principal::RESERVED.contains(&key.as_str()) {
            let reason = format!("`{key}` is a built-in attribute of callers; choose another name");
            errors.add(entry.place, reason);
        }
        let source = errors.take(keys::expression(&entry.value, key));
        let compiled = source.and_then(|source| compile(source, ANY, errors));
        mapping.attributes.extend(compiled.map(|compiled| (key.as_str().into(), compiled)));
    }
    mapping
}

fn compile(source: &Scalar, wanted: Kinds, errors: &mut ErrorCollector<'_>) -> Option<Expression> {
    let compiled = Expression::compile_with(Variables::OF_A_TOKEN, &source.text, wanted, &[]);
    errors.take(compiled.map_err(|error| (source.place_of(error.offset), error.reason)))
}

fn scopes(node: &Node, errors: &mut ErrorCollector<'_>) -> Vec<(Box<str>, Operations)> {
    let mut scopes = Vec::new();
    for entry in errors.take(keys::entries(node, "`scopes`")).unwrap_or_default() {
        // RFC 6749 section 3.3: scope-token.
        let is_scope =
            entry.key.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte));
        if entry.key.is_empty() || !is_scope {
            errors.add(
                entry.place,
                "a scope must have only printable ASCII characters, without spaces, `\"` and `\\`",
            );
        }
        let mut operations = Vec::new();
        for element in errors.take(keys::list(&entry.value, &entry.key)).unwrap_or_default() {
            let Some(word) = errors.take(keys::string(element, &entry.key)) else { continue };
            errors.take(OPERATIONS.check(&word.text, word.place));
            operations.extend(Operation::named(&word.text));
        }
        scopes.push((entry.key.as_str().into(), operations.into_iter().collect()));
    }
    scopes
}
