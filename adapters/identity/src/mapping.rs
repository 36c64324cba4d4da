//! From the claims of a token to a caller, by expressions of the identity file.

use domain::json::encode_string;
use domain::{Members, Operations, Principal, Value};
use language::evaluation;
use language::expression::{CostLimit, Expression, Meter, Outcome, Scope};

use crate::token::{Reason, check_subject};

/// Most bytes of the roles of a caller, and of all attributes: those of the longest token.
const MOST_BYTES: usize = 8 << 10;

/// The expressions of an issuer. All of them see `claims`.
#[derive(Debug, Default)]
pub(crate) struct ClaimMapping {
    /// Without it, `claims.sub`.
    pub id: Option<Expression>,
    pub name: Option<Expression>,
    pub roles: Option<Expression>,
    pub attributes: Vec<(Box<str>, Expression)>,
    pub require: Vec<Requirement>,
}

/// A condition on claims.
#[derive(Debug)]
pub(crate) struct Requirement {
    pub check: Expression,
    pub message: Box<str>,
}

/// The caller that a token is of, before the issuer's name is added.
#[derive(Debug)]
pub(crate) struct Mapped {
    id: Box<str>,
    name: Option<Box<str>>,
    roles: Box<[Box<str>]>,
    attributes: Members,
}

/// Reasons why claims make no caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MappingError {
    /// A condition is not met, or the id is none: a reason for the client.
    Refused(Reason),
    /// The expression of this key has no value, or not one of the kind that is needed.
    Failed(Box<str>),
}

impl ClaimMapping {
    /// Evaluates the expressions within the limit of a rule.
    pub async fn map(&self, claims: &Members) -> Result<Mapped, MappingError> {
        evaluation::run(CostLimit::Verdict, |meter| self.evaluate(claims, meter)).await
    }

    fn evaluate(&self, claims: &Members, meter: &Meter) -> Result<Mapped, MappingError> {
        let scope = Scope::of_token(claims);
        for Requirement { check, message } in &self.require {
            // A condition that cannot be decided is not met.
            if check.boolean(&scope, meter) != Ok(true) {
                return Err(MappingError::Refused(message.to_string().into()));
            }
        }
        let id = self.id(claims, &scope, meter)?;
        // Nothing is decided by a name, so a token without one is still of somebody.
        let name = self.name.as_ref().and_then(|name| name.string(&scope, meter).ok());
        let name = name.filter(|name| check_subject(name).is_ok());
        let roles = match &self.roles {
            Some(roles) => strings(roles, &scope, meter).ok_or_else(|| failed("roles"))?,
            None => Box::default(),
        };
        let mut attributes = Vec::with_capacity(self.attributes.len());
        for (key, expression) in &self.attributes {
            let value = json(expression, &scope, meter).ok().flatten();
            let value = value.ok_or_else(|| failed(&format!("attributes.{key}")))?;
            attributes.push(format!("{}:{value}", encode_string(key)));
        }
        let attributes = format!("{{{}}}", attributes.join(","));
        if attributes.len() > MOST_BYTES {
            return Err(failed("attributes"));
        }
        let attributes = Members::read(attributes.as_bytes());
        let attributes = attributes.ok().flatten().ok_or_else(|| failed("attributes"))?;
        Ok(Mapped { id, name: name.map(Into::into), roles, attributes })
    }

    fn id(
        &self,
        claims: &Members,
        scope: &Scope<'_>,
        meter: &Meter,
    ) -> Result<Box<str>, MappingError> {
        let id = if let Some(id) = &self.id {
            id.string(scope, meter).map_err(|_| failed("id"))?
        } else {
            let subject = claims.get("sub").and_then(Value::as_string);
            let none = || MappingError::Refused("the token has no `sub`".into());
            subject.ok_or_else(none)?.into_owned()
        };
        check_subject(&id).map_err(MappingError::Refused)?;
        Ok(id.into())
    }
}

impl Mapped {
    /// Returns whether the caller's id is the token's `sub`.
    pub fn is_subject_of(&self, claims: &Members) -> bool {
        claims.get("sub").and_then(Value::as_string).is_some_and(|subject| *subject == *self.id)
    }

    /// Returns the caller of an issuer: ids of different issuers are never the same.
    pub fn principal(
        self,
        issuer: &str,
        (acting, client): (Option<&str>, Option<&str>),
        granted: Operations,
    ) -> Principal {
        let of_issuer = |id: &str| format!("{issuer}:{id}").into();
        let by = (acting.map(of_issuer), client.map(Into::into));
        let principal = Principal::with(of_issuer(&self.id), self.roles, &self.attributes, by);
        Principal { name: self.name, granted, ..principal }
    }
}

fn failed(key: &str) -> MappingError {
    MappingError::Failed(key.into())
}

/// The value of an expression as JSON; `None` is one that is too long.
fn json(expression: &Expression, scope: &Scope<'_>, meter: &Meter) -> Outcome<Option<String>> {
    let (json, _) = expression.json(scope, meter, MOST_BYTES)?;
    Ok((!json.is_cut).then_some(json.text))
}

/// The strings of a list that has nothing else in it, each fit for a log and a database.
fn strings(expression: &Expression, scope: &Scope<'_>, meter: &Meter) -> Option<Box<[Box<str>]>> {
    let json = json(expression, scope, meter).ok().flatten()?;
    // Read anew: the text of an expression need not be in canonical escaping.
    let read = domain::json::read(json.as_bytes()).ok()?;
    let value = read.value();
    let role = |element: Value<'_>| {
        let role = element.as_string()?;
        check_subject(&role).is_ok().then(|| role.into())
    };
    value.elements()?.map(role).collect()
}
