//! The permissions of the caller: `/v1/access` for every group, `/access/v1/evaluation` for one
//! operation (`OpenID` `AuthZEN` Authorization API 1.0).

use std::sync::Arc;

use application::{AccessControl, Caller, ItemAddress};
use domain::json::{Kind, read};
use domain::{Collection, ItemId, Operation, Pointer, Value, Violation, Violations};
use poem::{Request, Response};
use serde_json::{Map, json};

use crate::endpoints::resources::HttpContext;
use crate::endpoints::{content, in_time};
use crate::explorer::ExploredGroup;
use crate::groups::{GROUPS, Group};
use crate::links::{self, ACCESS};
use crate::problem::Problem;
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;
use crate::time::TIME;

pub async fn own_access(context: Arc<HttpContext>, request: Request) -> Result<Response, Problem> {
    refuse_parameters(&request)?;
    let (caller, base_url) = (caller_of(&request), &context.base_url);
    let groups = GROUPS.iter().filter(|group| !group.is_nested());
    let access = &context.changing.access;
    let groups: Map<_, _> = groups.map(|group| access_to(group, caller, access)).collect();
    let body = json!({
        "caller": described(caller),
        "groups": groups,
        "_links": {
            "self": { "href": format!("{base_url}{ACCESS}") },
            "policies": { "href": format!("{base_url}{}", links::POLICIES) },
        },
    });
    Ok(content::untagged(&request, body.to_string()))
}

fn access_to(group: Group, caller: &Caller, access: &AccessControl) -> (String, serde_json::Value) {
    let collection = group.collection;
    let operations = Operation::ALL.map(|operation| {
        let decisive = access.decisive(caller, collection, operation);
        let policies = access.deciding(caller, decisive, operation);
        let extent = extent(access, caller, decisive, operation);
        let extent = json!({ "extent": extent, "policies": policies });
        (operation.name().to_owned(), extent)
    });
    (collection.name().to_owned(), operations.into_iter().collect::<Map<_, _>>().into())
}

fn extent(
    access: &AccessControl,
    caller: &Caller,
    of: Collection,
    operation: Operation,
) -> &'static str {
    let permissions = access.permissions(caller);
    match (permissions.has_all(of, operation), permissions.has_some(of, operation)) {
        (true, _) => "all",
        (false, true) => "some",
        (false, false) => "none",
    }
}

fn described(caller: &Caller) -> serde_json::Value {
    let Some(principal) = caller.principal() else { return serde_json::Value::Null };
    json!({
        "id": principal.id,
        "name": principal.name,
        "roles": principal.roles,
        "client": principal.client,
        "acting": principal.acting,
        "expires": principal.expires.map(|time| TIME.timestamp_to_string(&time)),
    })
}

struct Question {
    collection: Collection,
    operation: Operation,
    item: Option<ItemId>,
    /// False for a question about another subject.
    is_own: bool,
}

pub async fn evaluate(
    (context, groups): (Arc<HttpContext>, Arc<[ExploredGroup]>),
    mut request: Request,
) -> Result<Response, Problem> {
    let (body, _memory) = context.json_body(&mut request).await?;
    let caller = caller_of(&request);
    let question = Question::read(&body, caller)?;
    refuse_parameters(&request)?;
    let access = &context.changing.access;
    let decisive = access.decisive(caller, question.collection, question.operation);
    let (decision, reason) = decide(&context, &groups, caller, &question).await?;
    let deciding = || access.deciding(caller, decisive, question.operation);
    let policies = question.is_own.then(deciding).unwrap_or_default();
    let body = json!({
        "decision": decision,
        "context": { "reason": reason, "policies": policies },
    });
    Ok(content::untagged(&request, body.to_string()))
}

/// Treats an item that the caller may not see as missing.
async fn decide(
    context: &HttpContext,
    groups: &[ExploredGroup],
    caller: &Caller,
    question: &Question,
) -> Result<(bool, &'static str), Problem> {
    let Question { collection, operation, item, is_own } = *question;
    if !is_own {
        return Ok((false, "another-subject"));
    }
    let Some(id) = item.filter(|_| operation != Operation::Create) else {
        let access = &context.changing.access;
        if let Err(refusal) = access.require(caller, collection, &[operation]) {
            return denied(refusal.into());
        }
        let decisive = access.decisive(caller, collection, operation);
        return Ok((true, extent(access, caller, decisive, operation)));
    };
    let known = groups.iter().find(|known| known.group.collection == collection);
    let service = &known.ok_or_else(Problem::item_not_found)?.service;
    let address = ItemAddress { parent: None, id };
    let decided = service.require_permission(caller, address, operation);
    let decided = in_time(context.time_limit, decided).await;
    decided.map(|()| (true, "item")).or_else(denied)
}

fn denied(refusal: Problem) -> Result<(bool, &'static str), Problem> {
    let is_refusal = refusal.kind().status.is_client_error();
    if is_refusal { Ok((false, refusal.kind().code)) } else { Err(refusal) }
}

impl Question {
    /// The default subject is the caller.
    fn read(body: &[u8], caller: &Caller) -> Result<Self, Problem> {
        let read = read(body)?;
        let body = read.value();
        let mut violations = Violations::default();
        let mut string = |holder: &str, name: &str| -> Option<String> {
            let found = body.member(holder).and_then(|holder| holder.member(name));
            let found = found.and_then(Value::as_string).map(std::borrow::Cow::into_owned);
            if found.is_none() {
                let detail = format!("`{holder}.{name}` is required. Send a string.");
                violations.push(Violation::new(at(holder, name), "required", detail));
            }
            found
        };
        let (group, action) = (string("resource", "type"), string("action", "name"));
        let known = group.as_deref().map(Collection::named);
        if known == Some(None) {
            let names = Collection::names().join("`, `");
            let detail = format!("Unknown group. Use `{names}`.");
            violations.push(Violation::new(at("resource", "type"), "unknown_group", detail));
        }
        let operation = action.as_deref().map(Operation::named);
        if operation == Some(None) {
            let names = Operation::ALL.map(Operation::name).join("`, `");
            let detail = format!("Unknown operation. Use `{names}`.");
            violations.push(Violation::new(at("action", "name"), "unknown_operation", detail));
        }
        for (holder, name) in [("subject", "id"), ("subject", "type"), ("resource", "id")] {
            let holds = body.member(holder);
            let is_object = holds.is_none_or(|holds| holds.kind() == Kind::Object);
            let found = holds.and_then(|holds| holds.member(name));
            if !is_object || found.is_some_and(|found| found.kind() != Kind::String) {
                let detail = format!("`{holder}.{name}` must be a string. Send one, or omit it.");
                violations.push(Violation::new(at(holder, name), "no_string", detail));
            }
        }
        let subject = body.member("subject").and_then(|subject| subject.member("id"));
        let is_own = subject.is_none_or(|id| id.as_string().as_deref() == caller.id());
        let id = body.member("resource").and_then(|resource| resource.member("id"));
        let item = id.map(|id| id.as_string().and_then(|id| ItemId::parse(&id)));
        match (known.flatten(), operation.flatten()) {
            // An invalid identifier counts as a missing item.
            (Some(collection), Some(operation)) if violations.is_empty() => {
                let item = item.map(|id| id.unwrap_or(ItemId::NIL));
                Ok(Self { collection, operation, item, is_own })
            }
            _ => Err(Problem::invalid(violations)),
        }
    }
}

fn at(holder: &str, name: &str) -> Pointer {
    Pointer::to_member(holder).member(name)
}
