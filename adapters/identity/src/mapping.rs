//! Maps the claims of a token to a caller, by expressions of the identity file.

use domain::json::encode_string;
use domain::{Members, Operations, Principal, Value};
use language::evaluation;
use language::expression::{CostLimit, Expression, Meter, Outcome, Scope};

use crate::token::{Reason, check_subject};

/// Maximum bytes of a caller's roles, and of all attributes: equal to the longest token.
const MOST_BYTES: usize = 8 << 10;

#[derive(Debug, Default)]
pub(crate) struct ClaimMapping {
    pub id: Option<Expression>,
    pub name: Option<Expression>,
    pub roles: Option<Expression>,
    pub attributes: Vec<(Box<str>, Expression)>,
    pub require: Vec<Requirement>,
}

#[derive(Debug)]
pub(crate) struct Requirement {
    pub check: Expression,
    pub message: Box<str>,
}

#[derive(Debug)]
pub(crate) struct Mapped {
    id: Box<str>,
    name: Option<Box<str>>,
    roles: Box<[Box<str>]>,
    attributes: Members,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MappingError {
    Refused(Reason),
    /// The expression of this key has no value, or a value of the wrong kind.
    Failed(Box<str>),
}

impl ClaimMapping {
    /// Evaluates the expressions within the cost limit of a rule.
    pub async fn map(&self, claims: &Members) -> Result<Mapped, MappingError> {
        evaluation::run(CostLimit::Verdict, |meter| self.evaluate(claims, meter)).await
    }

    fn evaluate(&self, claims: &Members, meter: &Meter) -> Result<Mapped, MappingError> {
        let scope = Scope::of_token(claims);
        for Requirement { check, message } in &self.require {
            // An undecided condition counts as not met.
            if check.boolean(&scope, meter) != Ok(true) {
                return Err(MappingError::Refused(message.to_string().into()));
            }
        }
        let id = self.id(claims, &scope, meter)?;
        // Access does not depend on the name, so a token without a name is valid.
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
    pub fn is_subject_of(&self, claims: &Members) -> bool {
        claims.get("sub").and_then(Value::as_string).is_some_and(|subject| *subject == *self.id)
    }

    /// Returns the caller with the issuer's prefix: ids of different issuers never collide.
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

fn json(expression: &Expression, scope: &Scope<'_>, meter: &Meter) -> Outcome<Option<String>> {
    let (json, _) = expression.json(scope, meter, MOST_BYTES)?;
    Ok((!json.is_cut).then_some(json.text))
}

/// Returns the strings of a list of only strings. Each must be fit for a log and a database.
fn strings(expression: &Expression, scope: &Scope<'_>, meter: &Meter) -> Option<Box<[Box<str>]>> {
    let json = json(expression, scope, meter).ok().flatten()?;
    // Parse again: the text may not be in canonical escaping.
    let read = domain::json::read(json.as_bytes()).ok()?;
    let value = read.value();
    let role = |element: Value<'_>| {
        let role = element.as_string()?;
        check_subject(&role).is_ok().then(|| role.into())
    };
    value.elements()?.map(role).collect()
}
