//! Format of the identity file: the tables that the reader and the JSON Schema follow.

use domain::Operation;
use language::keys::Form::{self, Date, Expression, List, Mapping, Named, OneOf, Time};
use language::keys::{Table, Word, key};

use crate::token::Algorithm;

const LONGEST_STRING: usize = 2_000;

const STRING: Form = Form::String(LONGEST_STRING);
const NAME: Form = Form::String(63);
const DURATION: Form = Form::String(40);
const DAY_OR_TIME: Form = OneOf(&[Date, Time]);
const OPERATION: Form = Form::Word(OPERATIONS);
pub(crate) const OPERATIONS: Word =
    Word { of: "operation", known: || Operation::ALL.map(Operation::name).to_vec() };
const TOKEN_TYPE: Form = Form::Word(Word { of: "token type", known: || vec!["at+jwt", "jwt"] });
const ALGORITHM: Form = Form::Word(Word {
    of: "signature algorithm for access tokens:",
    known: || Algorithm::ALL.map(Algorithm::name).to_vec(),
});

pub(crate) static FILE: Table = Table::closed("an identity file").with(&[
    key("issuers", List(&Mapping(&ISSUER)), "The issuers whose access tokens are accepted."),
    key("keys", List(&Mapping(&KEY)), "Keys of the service, for programs without an issuer."),
    key(
        "revoked",
        List(&Mapping(&REVOKED)),
        "Tokens and keys that are refused before they expire.",
    ),
]);

pub(crate) static ISSUER: Table = Table::closed("an issuer").with(&[
    key("name", NAME, "The first part of its callers' ids, as in `agency:1f0c`. Never change it.")
        .required("agency"),
    key("issuer", STRING, "The URL that identifies it, exactly as `iss` has it in its tokens.")
        .required("https://id.agency.example"),
    key("jwks_uri", STRING, "The address of its keys, where it has no OpenID configuration."),
    key("audiences", List(&STRING), "The audiences that are accepted; without it, the base URL."),
    key(
        "token_type",
        TOKEN_TYPE,
        "`at+jwt` (RFC 9068), the default, or `jwt` for issuers that do not follow it.",
    ),
    key("algorithms", List(&ALGORITHM), "The signature algorithms; without it, all of them."),
    key("leeway", DURATION, "How far its clock may differ: `30s` by default, at most `5m`."),
    key("longest_lifetime", DURATION, "The longest a token may be valid: `24h` by default."),
    key(
        "keys_hold",
        DURATION,
        "How long its keys are used while it cannot be reached: `24h` by default.",
    ),
    key("ca", STRING, "A PEM file of certificate authorities beside those of the system."),
    key("clients", List(&STRING), "The clients (`client_id` or `azp`) that are accepted."),
    key("swagger_client", STRING, "The client that the service's own pages sign in with."),
    key("claims", Mapping(&CLAIMS), "How a caller is made of a token's claims."),
    key("require", List(&Mapping(&REQUIRE)), "Conditions on a token's claims."),
    key(
        "scopes",
        Named(None, &List(&OPERATION)),
        "The operations that each scope grants; without it, scopes are not looked at.",
    ),
]);

pub(crate) static CLAIMS: Table = Table::closed("`claims`").with(&[
    key("id", Expression, "A string, which nobody else ever has; without it, claims.sub."),
    key("name", Expression, "The name for people: a string or null."),
    key("roles", Expression, "A list of strings, such as claims.groups."),
    key("attributes", Named(None, &Expression), "What else policies and rules know of a caller."),
]);

pub(crate) static REQUIRE: Table = Table::closed("an element of `require`").with(&[
    key("check", Expression, "A CEL expression that must be true.")
        .required("claims.email_verified == true"),
    key("message", STRING, "What the client is told where it is false.")
        .required("confirm your address first"),
]);

pub(crate) static KEY: Table = Table::closed("a key").with(&[
    key("name", NAME, "The key's name; the caller is `key:NAME`.").required("nightly-export"),
    key("sha256", Form::String(64), "The SHA-256 of the whole key, in 64 hexadecimal digits.")
        .required("the line that `keys new` prints"),
    key("roles", List(&STRING), "The roles of the caller."),
    key("expires", DAY_OR_TIME, "The last day (UTC) on which it is accepted, or the time."),
    key("note", STRING, "For people: who has it, and what for."),
]);

pub(crate) static REVOKED: Table = Table::closed("an element of `revoked`").with(&[
    key("subject", STRING, "A caller's id, such as agency:1f0c or key:nightly-export.")
        .alternative(),
    key("issuer", STRING, "The name of an issuer, all of whose tokens are meant.").alternative(),
    key(
        "before",
        Time,
        "Tokens that were issued before this time are refused; a key is refused from it on.",
    )
    .required("2026-11-20T08:00:00Z"),
]);

pub fn schema() -> String {
    language::schema("Callers and their credentials", &FILE)
}
