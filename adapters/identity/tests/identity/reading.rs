//! All errors of identity files are reported at once, each with its location and its fix.

use crate::files::{
    assert_error, assert_errors, assert_published, errors, errors_of, folder, load_text, rows,
};

/// A sound issuer with some lines more, which begin in line 4.
fn with(lines: &str) -> String {
    format!("issuers:\n- name: agency\n  issuer: https://id.example\n{lines}")
}

fn key(more: &str) -> String {
    format!("keys:\n- {{name: a, sha256: \"{}\"{more}}}", "0f".repeat(32))
}

const BEFORE: &str = "before: 2026-11-20T08:00:00Z";

#[test]
fn sound_files_are_read() {
    for text in [
        "keys: []".to_owned(),
        with(""),
        with("  token_type: jwt\n  leeway: 0s\n  longest_lifetime: 1h 30m\n"),
        with("  jwks_uri: https://id.example/keys\n"),
        key(", expires: 2027-03-31, note: someone"),
        format!("{}\nrevoked: [{{subject: 'key:a', {BEFORE}}}]", key(", roles: [a, b]")),
        with(&format!("revoked: [{{subject: 'agency:1', {BEFORE}}}]")),
        "issuers: [{name: a, issuer: 'http://[::1]:8080/realm'}]".to_owned(),
    ] {
        load_text(&text);
    }
}

#[test]
fn each_error_of_a_file_has_its_location_and_fix() {
    for (text, reason) in [
        ("", "the file is empty"),
        ("{}", "there is no list `issuers` or `keys`; add it, or write `keys: []`"),
        ("revoked: []", "there is no list `issuers` or `keys`"),
    ] {
        assert!(matches!(&errors(text)[..], [error] if error.contains(reason)), "{text}");
    }
    for (text, expected) in rows(FAULTS) {
        assert_error(&text, &expected);
    }
}

const FAULTS: &str = "
issuers: [ => 1: this is not YAML
keys: => 1: `keys` must be a list, not null
- a => 1:1: an identity file must be a mapping of keys to values, not a list
issuer: 1 => 1:1: did you mean `issuers`?
issuers: 5 => 1:10: `issuers` must be a list, not a number
issuers: [{name: a}] => 1:11: an issuer needs the key `issuer`; add one
issuers: [{issuer: 'https://a.example'}] => 1:11: needs the key `name`
issuers: [{name: Agency, issuer: 'https://a.example'}] => 1:18: `Agency` cannot name an issuer
issuers: [{name: key, issuer: 'https://a.example'}] => 1:18: choose another name
issuers: [{name: a, issuer: 'http://a.example'}] => 1:29: write https
issuers: [{name: a, issuer: 'https://a.example?b'}] => 1:29: must not contain `?`
keys: [{name: a}] => 1:8: a key needs the key `sha256`
keys: [{name: a, sha256: abc}] => 1:26: must have 64 hexadecimal digits; copy the line
";

/// Lines after those of a sound issuer.
const FAULTS_OF_ISSUERS: &str = r#"
  audience: x => 4:3: did you mean `audiences`?
  audiences: [] => 4:14: every token would be refused
  algorithms: [] => 4:15: every token would be refused
  algorithms: [HS256] => 4:16: no signature algorithm for access tokens: `HS256`
  algorithms: [none] => 4:16: `RS256`, `PS256`, `ES256`, `ES384`, `EdDSA`
  token_type: id => 4:15: known: `at+jwt`, `jwt`
  leeway: 30 => 4:11: `leeway` must be a string
  leeway: soon => 4:11: `leeway` must be a duration such as 30s, 5m or 24h
  leeway: 10m => 4:11: `leeway` must be from 0s to 5m
  leeway: -1s => 4:11: `leeway` must be from 0s to 5m
  longest_lifetime: 1s => 4:21: `longest_lifetime` must be from 1m to
  keys_hold: 1000h => 4:14: `keys_hold` must be from 10m to
  ca: missing.pem => 4:7: `ca` names a file that cannot be read
  ca: identity.yaml => 4:7: a file without certificates
  jwks_uri: http://id.example/keys => 4:13: write https
  jwks_uri: keys => 4:13: is not an https URL
  claims: [id] => 4:11: `claims` must be a mapping
  claims: {id: claims.sub +} => 4:28: this is not CEL
  claims: {id: claim.sub} => 4:16: did you mean `claims`?
  claims: {id: self.sub} => 4:16: there is no variable `self`
  claims: {id: 1 + 1} => 4:16: must be a string, not
  claims: {roles: size(claims)} => 4:19: must be a list
  claims: {attributes: {id: claims.sub}} => 4:25: `id` is a built-in attribute of callers
  claims: {attributes: {org: claim.org}} => 4:30: did you mean `claims`?
  require: [{check: claims.ok}] => 4:13: needs the key `message`
  require: [{check: "'a'", message: no}] => 4:22: must be a boolean
  scopes: {a: [reed]} => 4:16: did you mean `read`?
  scopes: {a b: [read]} => 4:12: a scope must have only printable ASCII characters
  scopes: {a: read} => 4:15: `a` must be a list, not a string
- {name: agency, issuer: 'https://b.example'} => 4:3: duplicate issuer `agency`, first at
- {name: b, issuer: 'https://id.example'} => 4:3: with the URL `https://id.example`, first at
revoked: [{subject: 'other:1', BEFORE}] => 4:21: there is no issuer `other`
revoked: [{subject: agency, BEFORE}] => 4:21: write ISSUER:ID
revoked: [{issuer: agenzy, BEFORE}] => 4:20: did you mean `agency`?
revoked: [{subject: 'key:a', BEFORE}] => 4:21: there is no key `a` in `keys`
revoked: [{subject: 'agency:1', before: today}] => 4: a time such as
revoked: [{subject: 'agency:1'}] => 4:11: needs the key `before`
revoked: [{BEFORE}] => 4:11: needs a `subject` or a `issuer`
"#;

#[test]
fn each_error_of_an_issuer_has_its_location_and_fix() {
    for (line, expected) in rows(FAULTS_OF_ISSUERS) {
        assert_error(&with(&line).replace("BEFORE", BEFORE), &expected);
    }
    let without_issuers = format!("revoked: [{{issuer: agency, {BEFORE}}}]");
    let expected = "1:20: there is no issuer `agency`; the file has no issuers";
    assert_error(&without_issuers, expected);
}

#[test]
fn each_error_of_a_key_has_its_location_and_fix() {
    let one = key("");
    let twice = format!("{one}\n- {{name: a, sha256: \"{}\"}}", "0".repeat(64));
    assert_error(&twice, "3:3: duplicate key `a`, first at");
    let long = format!("\", roles: [{}]}}", "a".repeat(256));
    assert_errors(
        &one,
        &[
            (
                "\"}",
                "\", expires: 2027-02-30}",
                "2: `expires` must be a date as YYYY-MM-DD or a time",
            ),
            ("\"}", "\", revoked: 2026-01-01}", "2: a key has no key `revoked`"),
            ("\"}", "\", role: a}", "2: did you mean `roles`?"),
            ("\"}", &long, "2: a role must have 1 to 255 characters"),
            ("name: a", "name: a_b", "2:10: `a_b` cannot name a key"),
        ],
    );
    assert_errors(
        &format!("{one}\nrevoked: [{{subject: 'key:a', {BEFORE}}}]"),
        &[
            ("key:a", "key:b", "3:21: there is no key `b` in `keys`"),
            (BEFORE, "before: 2026-11-20", "3: a time such as 2026-01-31T12:00:00Z"),
        ],
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let text = with("  leeway: soon\n  token_type: id\nkeys: [{name: A, sha256: b}]\n");
    assert_eq!(errors(&text).len(), 4, "{:#?}", errors(&text));
}

#[test]
fn a_revocation_has_no_second_error_by_that_of_what_it_names() {
    let of_subject = format!("revoked: [{{subject: 'agency:1', {BEFORE}}}]\n");
    let of_issuer = format!("revoked: [{{issuer: agency, {BEFORE}}}]\n");
    for issuers in [
        "issuers: [{name: agency, issuer: 'http://id.example'}]\n",
        "issuers: [{name: agency, issuer: 'https://id.example', leeway: soon}]\n",
        "issuers: [{name: agency}]\n",
        "issuers: [{issuer: 'https://id.example'}]\n",
        "issuers: [{name: [agency], issuer: 'https://id.example'}]\n",
        "issuers: [agency]\n",
        "issuers: agency\n",
        "issuer: []\n",
        "issuers: [{name: a, issuer: 'https://id.example'}, {name: agency, issuer: 'https://id.example'}]\n",
    ] {
        for revoked in [&of_subject, &of_issuer] {
            let errors = errors(&format!("{issuers}{revoked}"));
            let is_first = errors.len() == 1 && !errors[0].contains("there is no issuer");
            assert!(is_first, "{issuers}{revoked}{errors:#?}");
        }
    }
    // A key is no other matter.
    let of_key =
        format!("keys: [{{name: a, sha256: b}}]\nrevoked: [{{subject: 'key:a', {BEFORE}}}]\n");
    let of_key = errors(&of_key);
    assert!(of_key.len() == 1 && of_key[0].contains("`sha256`"), "{of_key:#?}");
    // A name that is of no issuer of the file is reported in addition to the error.
    let errors = errors(&format!(
        "issuers: [{{name: agency, issuer: 'http://id.example'}}]\nrevoked: [{{issuer: agenzy, {BEFORE}}}]\n"
    ));
    let are_both = errors.len() == 2
        && errors[0].contains("write https")
        && errors[1].contains("there is no issuer `agenzy`; did you mean `agency`?");
    assert!(are_both, "{errors:#?}");
}

#[test]
fn an_issuer_in_a_file_that_cannot_be_read_is_not_called_unknown() {
    let errors = errors_of(&folder(&[
        ("issuers.yaml", "issuers: [{name: agency"),
        ("revoked.yaml", "revoked: [{issuer: agency, before: 2026-11-20T08:00:00Z}]\n"),
    ]));
    assert!(errors.len() == 1 && errors[0].contains("issuers.yaml"), "{errors:#?}");
}

#[test]
fn the_published_schema_is_that_of_the_reader() {
    assert_published("identity.json", &identity_adapter::schema());
}
