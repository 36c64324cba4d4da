//! Converts an element of `keys:` to a key of the service.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use language::error::ErrorCollector;
use language::keys::{self, Keys};
use language::yaml::Node;

use crate::file_format::KEY;
use crate::machine_key::{KnownKey, is_name};
use crate::token::check_subject;

pub(crate) fn read(node: &Node, errors: &mut ErrorCollector<'_>) -> Option<KnownKey> {
    let before = errors.count();
    let keys = Keys::of(node, &KEY, Some(&[]), errors)?;
    if let Some(name) = keys.scalar("name").filter(|name| !is_name(&name.text)) {
        errors.add(name.place, misnamed("key", &name.text));
    }
    let digest = keys.scalar("sha256");
    let sha256 = digest.and_then(|digest| digest_of(&digest.text));
    if let Some(digest) = digest.filter(|_| sha256.is_none()) {
        errors.add(
            digest.place,
            "`sha256` must have 64 hexadecimal digits; copy the line that `proposal-service keys new NAME` prints",
        );
    }
    let ends = end(&keys, errors);
    let roles: Vec<_> = keys.elements("roles").iter().filter_map(|role| role.scalar()).collect();
    for role in roles.iter().filter(|role| check_subject(&role.text).is_err()) {
        let reason = "a role must have 1 to 255 characters, without control characters";
        errors.add(role.place, reason);
    }
    let roles = roles.iter().map(|role| role.text.as_str().into()).collect();
    let (name, sha256) = (keys.string("name")?.into(), sha256?);
    (errors.count() == before).then(|| KnownKey::new(name, sha256, roles, ends))
}

pub(crate) fn misnamed(of: &str, name: &str) -> String {
    format!(
        "`{name}` cannot name {} {of}: use at most 63 lower-case letters, digits and `-`, and begin with a letter",
        if of.starts_with('i') { "an" } else { "a" }
    )
}

fn digest_of(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(text, &mut digest).ok()?;
    Some(digest)
}

/// Returns the end of validity: the last day (UTC) is included.
fn end(keys: &Keys<'_>, errors: &mut ErrorCollector<'_>) -> Option<Timestamp> {
    let node = keys.get("expires")?;
    let text = &errors.take(keys::string(node, "expires"))?.text;
    let end_of = |day: Date| {
        day.tomorrow().ok()?.to_zoned(TimeZone::UTC).ok().map(|begin| begin.timestamp())
    };
    let end = match language::expression::date(text) {
        Some(day) => end_of(day),
        None => text.parse().ok(),
    };
    if end.is_none() {
        let reason =
            "`expires` must be a date as YYYY-MM-DD or a time such as 2026-01-31T12:00:00Z";
        errors.add(node.place, reason);
    }
    end
}
