//! Claims of a token (RFC 7519 section 4.1, RFC 9068 section 2.2): types, times and audience.

use domain::{Members, Value, json};
use jiff::{SignedDuration, Timestamp};

use super::Reason;

pub(crate) const LONGEST_SUBJECT: usize = 255;

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClaimForm {
    String,
    Time,
    Strings,
    Object,
    List,
}

/// Known claims: name, type, and whether required. A claim of the wrong type is an error, because
/// another verifier might accept it.
const CLAIMS: &[(&str, ClaimForm, bool)] = &[
    ("iss", ClaimForm::String, true),
    ("exp", ClaimForm::Time, true),
    ("iat", ClaimForm::Time, true),
    ("aud", ClaimForm::Strings, true),
    ("sub", ClaimForm::String, false),
    ("nbf", ClaimForm::Time, false),
    ("jti", ClaimForm::String, false),
    ("client_id", ClaimForm::String, false),
    ("azp", ClaimForm::String, false),
    ("scope", ClaimForm::String, false),
    ("scp", ClaimForm::Strings, false),
    ("act", ClaimForm::Object, false),
    ("auth_time", ClaimForm::Time, false),
    ("acr", ClaimForm::String, false),
    ("amr", ClaimForm::List, false),
];

pub(crate) struct Claims<'a> {
    members: &'a Members,
    pub issued: Timestamp,
    expires: Timestamp,
    not_before: Option<Timestamp>,
    pub client: Option<String>,
    pub acting: Option<String>,
}

#[derive(Debug)]
pub(crate) struct TokenConditions {
    pub audiences: Box<[Box<str>]>,
    pub clients: Option<Box<[Box<str>]>>,
    pub leeway: SignedDuration,
    pub longest_lifetime: SignedDuration,
}

impl ClaimForm {
    const fn described(self) -> &'static str {
        match self {
            Self::String => "a string",
            Self::Time => "a number of seconds since 1970",
            Self::Strings => "a string or a list of strings",
            Self::Object => "an object",
            Self::List => "a list",
        }
    }

    fn fits(self, value: Value<'_>) -> bool {
        let is_string = |value: Value<'_>| value.kind() == json::Kind::String;
        match self {
            Self::String => is_string(value),
            Self::Time => time(value).is_some(),
            Self::Strings => {
                is_string(value) || value.elements().is_some_and(|mut list| list.all(is_string))
            }
            Self::Object => value.kind() == json::Kind::Object,
            Self::List => value.kind() == json::Kind::Array,
        }
    }
}

impl<'a> Claims<'a> {
    /// Returns the claimed issuer, before any other check.
    pub fn issuer(members: &Members) -> Result<String, Reason> {
        let issuer = members.get("iss").ok_or("the token has no `iss`")?;
        let issuer = issuer.as_string().ok_or("the token's `iss` is not a string")?;
        Ok(issuer.into_owned())
    }

    pub fn read(members: &'a Members) -> Result<Self, Reason> {
        for (name, form, is_required) in CLAIMS {
            match members.get(name) {
                Some(value) if !form.fits(value) => {
                    return Err(format!("the token's `{name}` is not {}", form.described()).into());
                }
                None if *is_required => return Err(format!("the token has no `{name}`").into()),
                _ => {}
            }
        }
        if members.get("cnf").is_some() {
            return Err(
                "the token is bound to a key (`cnf`) and cannot be used as a bearer token".into()
            );
        }
        let string = |name| members.get(name).and_then(Value::as_string).map(Into::into);
        let at = |name| members.get(name).and_then(time);
        let subject: Option<String> = string("sub");
        subject.as_deref().map_or(Ok(()), check_subject)?;
        let client = client(string("client_id"), string("azp"))?;
        if subject.is_none() && client.is_none() {
            return Err("the token has no `sub`".into());
        }
        let (Some(issued), Some(expires)) = (at("iat"), at("exp")) else {
            return Err("the token has no `iat` or no `exp`".into());
        };
        let acting = acting(members)?;
        Ok(Self { members, issued, expires, not_before: at("nbf"), client, acting })
    }

    pub fn check(&self, conditions: &TokenConditions, now: Timestamp) -> Result<Timestamp, Reason> {
        let leeway = conditions.leeway;
        let ends = self.expires.checked_add(leeway).unwrap_or(Timestamp::MAX);
        if now >= ends {
            return Err(format!(
                "the token expired {} ago",
                rounded(now.duration_since(self.expires))
            )
            .into());
        }
        let soon = now.checked_add(leeway).unwrap_or(Timestamp::MAX);
        if let Some(from) = self.not_before.filter(|from| *from > soon) {
            let wait = rounded(from.duration_since(now));
            return Err(format!("the token is not valid yet; retry in {wait}").into());
        }
        if self.issued > soon {
            return Err("the token was issued in the future; a clock is wrong".into());
        }
        if self.expires.duration_since(self.issued) > conditions.longest_lifetime {
            return Err("the token is valid for longer than allowed".into());
        }
        let accepts = |audience: &str| conditions.audiences.iter().any(|own| **own == *audience);
        if !self.strings("aud").iter().any(|audience| accepts(audience)) {
            return Err("the token was issued for another audience".into());
        }
        if let Some(clients) = &conditions.clients {
            let is_known = |client: &str| clients.iter().any(|own| **own == *client);
            if !self.client.as_deref().is_some_and(is_known) {
                return Err("the token's client is not accepted".into());
            }
        }
        Ok(ends)
    }

    /// Returns `true` if the token is not valid yet, so a refusal is temporary.
    pub fn begins_later(&self, now: Timestamp) -> bool {
        self.issued > now || self.not_before.is_some_and(|from| from > now)
    }

    /// Returns the scopes: `scope` (RFC 8693), or `scp` of some issuers.
    pub fn scopes(&self) -> Vec<String> {
        let separated = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        ["scope", "scp"]
            .into_iter()
            .flat_map(|name| self.strings(name))
            .flat_map(separated)
            .collect()
    }

    fn strings(&self, name: &str) -> Vec<String> {
        let Some(value) = self.members.get(name) else { return Vec::new() };
        let list = value.elements().into_iter().flatten().filter_map(Value::as_string);
        value.as_string().into_iter().chain(list).map(Into::into).collect()
    }
}

pub(crate) fn check_subject(subject: &str) -> Result<(), Reason> {
    if subject.is_empty() {
        Err("the token's subject is empty".into())
    } else if subject.chars().count() > LONGEST_SUBJECT {
        Err(format!("the token's subject has more than {LONGEST_SUBJECT} characters").into())
    } else if subject.chars().any(char::is_control) {
        Err("the token's subject contains a control character".into())
    } else {
        Ok(())
    }
}

/// Returns the client of `client_id` or `azp`. If both are present, they must match.
fn client(id: Option<String>, party: Option<String>) -> Result<Option<String>, Reason> {
    match (id, party) {
        (Some(id), Some(party)) if id != party => {
            Err("the token's `client_id` and `azp` differ".into())
        }
        (id, party) => match id.or(party) {
            Some(client) if check_subject(&client).is_err() => {
                Err("the token's client is empty, too long, or contains a control character".into())
            }
            client => Ok(client),
        },
    }
}

/// Returns the subject of `act` (RFC 8693 section 4.1). It must be of the same issuer: a foreign
/// name would look like one of this issuer.
fn acting(members: &Members) -> Result<Option<String>, Reason> {
    let Some(act) = members.get("act") else { return Ok(None) };
    let subject = act.member("sub").and_then(Value::as_string);
    let subject = subject.ok_or("the token's `act` has no string `sub`")?;
    check_subject(&subject)?;
    match act.member("iss") {
        Some(issuer) if Some(issuer) != members.get("iss") => {
            Err("the token's `act` names another issuer".into())
        }
        _ => Ok(Some(subject.into_owned())),
    }
}

fn time(value: Value<'_>) -> Option<Timestamp> {
    let seconds: f64 = value.as_number()?.parse().ok()?;
    let duration = (seconds >= 0.0).then(|| SignedDuration::try_from_secs_f64(seconds).ok())??;
    Timestamp::from_duration(duration).ok()
}

fn rounded(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let (count, unit) = match seconds {
        ..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}
