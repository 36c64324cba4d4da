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
        "Revoked tokens and keys. They are refused even if they have not expired.",
    ),
]);

pub(crate) static ISSUER: Table = Table::closed("an issuer").with(&[
    key("name", NAME, "The first part of its callers' ids, as in `agency:1f0c`. Never change it.")
        .required("agency"),
    key("issuer", STRING, "Its URL, exactly as in `iss` of its tokens.")
        .required("https://id.agency.example"),
    key("jwks_uri", STRING, "The URL of its keys, if it has no OpenID configuration."),
    key("audiences", List(&STRING), "The accepted audiences. Default: the base URL."),
    key(
        "token_type",
        TOKEN_TYPE,
        "`at+jwt` (RFC 9068), the default, or `jwt` for issuers that do not follow it.",
    ),
    key("algorithms", List(&ALGORITHM), "The accepted signature algorithms. Default: all."),
    key("leeway", DURATION, "The tolerated clock difference: `30s` by default, at most `5m`."),
    key("longest_lifetime", DURATION, "The maximum lifetime of a token: `24h` by default."),
    key(
        "keys_hold",
        DURATION,
        "How long its keys are used while it cannot be reached: `24h` by default.",
    ),
    key("ca", STRING, "A PEM file of certificate authorities, in addition to those of the system."),
    key("clients", List(&STRING), "The accepted clients (`client_id` or `azp`)."),
    key("swagger_client", STRING, "The client that the service's own pages sign in with."),
    key("claims", Mapping(&CLAIMS), "How the claims of a token map to a caller."),
    key("require", List(&Mapping(&REQUIRE)), "Conditions on a token's claims."),
    key(
        "scopes",
        Named(None, &List(&OPERATION)),
        "The operations that each scope grants. Without it, scopes are ignored.",
    ),
]);

pub(crate) static CLAIMS: Table = Table::closed("`claims`").with(&[
    key("id", Expression, "A string that is unique to the caller. Default: claims.sub."),
    key("name", Expression, "The display name: a string or null."),
    key("roles", Expression, "A list of strings, such as claims.groups."),
    key(
        "attributes",
        Named(None, &Expression),
        "Further attributes of a caller for policies and rules.",
    ),
]);

pub(crate) static REQUIRE: Table = Table::closed("an element of `require`").with(&[
    key("check", Expression, "A CEL expression that must be true.")
        .required("claims.email_verified == true"),
    key("message", STRING, "The message to the client if it is false.")
        .required("confirm your address first"),
]);

pub(crate) static KEY: Table = Table::closed("a key").with(&[
    key("name", NAME, "The key's name; the caller is `key:NAME`.").required("nightly-export"),
    key("sha256", Form::String(64), "The SHA-256 of the whole key, in 64 hexadecimal digits.")
        .required("the line that `keys new` prints"),
    key("roles", List(&STRING), "The roles of the caller."),
    key("expires", DAY_OR_TIME, "The last day (UTC) on which it is accepted, or a time."),
    key("note", STRING, "A note: who has it, and why."),
]);

pub(crate) static REVOKED: Table = Table::closed("an element of `revoked`").with(&[
    key("subject", STRING, "A caller's id, such as agency:1f0c or key:nightly-export.")
        .alternative(),
    key("issuer", STRING, "The name of an issuer, for all its tokens.").alternative(),
    key(
        "before",
        Time,
        "Tokens issued before this time are refused; a key is refused from this time on.",
    )
    .required("2026-11-20T08:00:00Z"),
]);

pub fn schema() -> String {
    language::schema("Callers and their credentials", &FILE)
}
