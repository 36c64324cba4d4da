//! The permissions of the caller: `/v1/access` for every group, `/access/v1/evaluation` for one
//! operation and `/access/v1/evaluations` for several (`OpenID` `AuthZEN` Authorization API 1.0).

use std::collections::BTreeMap;
use std::sync::Arc;

use application::{AccessControl, Caller, ItemDecision};
use domain::json::{Kind, read};
use domain::{Collection, ItemId, Operation, Pointer, Value, Violation, Violations};
use poem::{Request, Response};
use serde_json::{Map, json};

use crate::endpoints::resources::HttpContext;
use crate::endpoints::{content, in_time};
use crate::explorer::ExploredGroup;
use crate::groups::{GROUPS, Group};
use crate::links::{self, ACCESS};
use crate::problem::{Problem, Result, kinds};
use crate::query::refuse_parameters;
use crate::request::caller::caller_of;
use crate::time::TIME;

pub async fn own_access(context: Arc<HttpContext>, request: Request) -> Result<Response> {
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

/// The most evaluations of a request.
const MOST_EVALUATIONS: usize = 250;

/// When to stop. The default comes first.
const SEMANTICS: [(&str, Option<bool>); 3] = [
    ("execute_all", None),
    ("deny_on_first_deny", Some(false)),
    ("permit_on_first_permit", Some(true)),
];

struct Question {
    collection: Collection,
    operation: Operation,
    item: Option<ItemId>,
    /// False for a question about another subject.
    is_own: bool,
}

type Decision = (bool, &'static str);

/// Answers `/access/v1/evaluation`, and `/access/v1/evaluations` with `evaluations`.
pub async fn evaluate(
    (context, groups): (Arc<HttpContext>, Arc<[ExploredGroup]>),
    mut request: Request,
) -> Result<Response> {
    let (body, _memory) = context.json_body(&mut request).await?;
    let caller = caller_of(&request);
    let read = read(&body)?;
    let body = read.value();
    let is_bulk = request.uri().path() == links::EVALUATIONS;
    let (questions, last) = if is_bulk { questions(body, caller)? } else { (Vec::new(), None) };
    let is_single = questions.is_empty();
    let questions = if is_single { vec![question(body, None, caller)?] } else { questions };
    refuse_parameters(&request)?;
    let decided = decide(&context, &groups, caller, &questions);
    let mut decisions = in_time(context.time_limit, decided).await?;
    if let Some(end) = decisions.iter().position(|(decision, _)| Some(*decision) == last) {
        decisions.truncate(end + 1);
    }
    let answers = questions.iter().zip(decisions).map(|(question, (decision, reason))| {
        let policies = deciding(&context.changing.access, caller, question);
        json!({ "decision": decision, "context": { "reason": reason, "policies": policies } })
    });
    let mut answers: Vec<_> = answers.collect();
    let body = if is_single { answers.swap_remove(0) } else { json!({ "evaluations": answers }) };
    Ok(content::untagged(&request, body.to_string()))
}

fn deciding(access: &AccessControl, caller: &Caller, question: &Question) -> Vec<Box<str>> {
    let Question { collection, operation, is_own, .. } = *question;
    if !is_own {
        return Vec::new();
    }
    access.deciding(caller, access.decisive(caller, collection, operation), operation)
}

/// Decides in order. Questions about one operation of a group share their queries.
async fn decide(
    context: &HttpContext,
    groups: &[ExploredGroup],
    caller: &Caller,
    questions: &[Question],
) -> Result<Vec<Decision>> {
    let mut decisions = vec![(false, "another-subject"); questions.len()];
    let mut of_items: BTreeMap<(Collection, Operation), Vec<(usize, ItemId)>> = BTreeMap::new();
    for (place, question) in questions.iter().enumerate().filter(|(_, it)| it.is_own) {
        let Question { collection, operation, item, .. } = *question;
        match item.filter(|_| operation != Operation::Create) {
            Some(id) => of_items.entry((collection, operation)).or_default().push((place, id)),
            None => decisions[place] = of_group(&context.changing.access, caller, question)?,
        }
    }
    for ((collection, operation), items) in of_items {
        let known = groups.iter().find(|known| known.group.collection == collection);
        let service = &known.ok_or_else(Problem::item_not_found)?.service;
        let ids: Vec<_> = items.iter().map(|(_, id)| *id).collect();
        let decided = match service.decide_on(caller, operation, &ids).await {
            Ok(decided) => decided.into_iter().map(of_item).collect(),
            Err(refusal) => vec![denied(refusal.into())?; ids.len()],
        };
        for ((place, _), decision) in items.into_iter().zip(decided) {
            decisions[place] = decision;
        }
    }
    Ok(decisions)
}

fn of_group(access: &AccessControl, caller: &Caller, question: &Question) -> Result<Decision> {
    let Question { collection, operation, .. } = *question;
    if let Err(refusal) = access.require(caller, collection, &[operation]) {
        return denied(refusal.into());
    }
    let decisive = access.decisive(caller, collection, operation);
    Ok((true, extent(access, caller, decisive, operation)))
}

/// An item that the caller may not see is missing.
const fn of_item(decision: ItemDecision) -> Decision {
    match decision {
        ItemDecision::Permitted => (true, "item"),
        ItemDecision::NotPermitted => (false, kinds::NOT_PERMITTED.code),
        ItemDecision::Missing => (false, kinds::ITEM_NOT_FOUND.code),
        ItemDecision::SignInNeeded => (false, kinds::CREDENTIALS_REQUIRED.code),
    }
}

fn denied(refusal: Problem) -> Result<Decision> {
    let is_refusal = refusal.kind.status.is_client_error();
    if is_refusal { Ok((false, refusal.kind.code)) } else { Err(refusal) }
}

/// Reads `evaluations`, and the decision that ends them. The body has the defaults of each.
fn questions(body: Value<'_>, caller: &Caller) -> Result<(Vec<Question>, Option<bool>)> {
    let invalid = |pointer: Pointer, code, detail: String| {
        Err(Problem::invalid(Violation::new(pointer, code, detail).into()))
    };
    let at = Pointer::to_member("evaluations");
    let Some(evaluations) = body.member("evaluations") else { return Ok((Vec::new(), None)) };
    let Some(elements) = evaluations.elements() else {
        return invalid(at, "no_list", "`evaluations` must be a list.".to_owned());
    };
    let count = elements.clone().count();
    if count > MOST_EVALUATIONS {
        let detail =
            format!("`evaluations` has {count} elements. Send at most {MOST_EVALUATIONS}.");
        return invalid(at, "too_many", detail);
    }
    let options = body.member("options");
    if options.is_some_and(|options| options.kind() != Kind::Object) {
        let at = Pointer::to_member("options");
        return invalid(at, "no_object", "`options` must be an object.".to_owned());
    }
    let semantics = options.and_then(|options| options.member("evaluations_semantic"));
    let named = |value: Value<'_>| {
        let name = value.as_string()?;
        SEMANTICS.iter().find(|(known, _)| *known == name).map(|(_, last)| *last)
    };
    let Some(last) = semantics.map_or(Some(None), named) else {
        let known = SEMANTICS.map(|(name, _)| name).join("`, `");
        let at = Pointer::to_member("options").member("evaluations_semantic");
        return invalid(at, "unknown_semantic", format!("Unknown semantic. Use `{known}`."));
    };
    let (mut read, mut violations) = (Vec::with_capacity(count), Violations::default());
    for (index, element) in elements.enumerate() {
        match question(body, Some((element, at.index(index))), caller) {
            Ok(question) => read.push(question),
            Err(problem) => violations.extend(problem.violations().cloned()),
        }
    }
    if violations.is_empty() { Ok((read, last)) } else { Err(Problem::invalid(violations)) }
}

/// Reads a question, or one of the elements of `evaluations`. The default subject is the caller.
fn question(
    body: Value<'_>,
    element: Option<(Value<'_>, Pointer)>,
    caller: &Caller,
) -> Result<Question> {
    let (element, base) = element.unwrap_or((body, Pointer::root()));
    let holder = |name: &str| element.member(name).or_else(|| body.member(name));
    let at = |holder: &str, name: &str| base.member(holder).member(name);
    let mut violations = Violations::default();
    let mut string = |of: &str, name: &str| -> Option<String> {
        let found = holder(of).and_then(|holder| holder.member(name));
        let found = found.and_then(Value::as_string).map(std::borrow::Cow::into_owned);
        if found.is_none() {
            let detail = format!("`{of}.{name}` is required. Send a string.");
            violations.push(Violation::new(at(of, name), "required", detail));
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
    for (of, name) in [("subject", "id"), ("subject", "type"), ("resource", "id")] {
        let holds = holder(of);
        let is_object = holds.is_none_or(|holds| holds.kind() == Kind::Object);
        let found = holds.and_then(|holds| holds.member(name));
        if !is_object || found.is_some_and(|found| found.kind() != Kind::String) {
            let detail = format!("`{of}.{name}` must be a string. Send one, or omit it.");
            violations.push(Violation::new(at(of, name), "no_string", detail));
        }
    }
    let subject = holder("subject").and_then(|subject| subject.member("id"));
    let is_own = subject.is_none_or(|id| id.as_string().as_deref() == caller.id());
    let id = holder("resource").and_then(|resource| resource.member("id"));
    let item = id.map(|id| id.as_string().and_then(|id| ItemId::parse(&id)));
    match (known.flatten(), operation.flatten()) {
        // An invalid identifier counts as a missing item.
        (Some(collection), Some(operation)) if violations.is_empty() => {
            let item = item.map(|id| id.unwrap_or(ItemId::NIL));
            Ok(Question { collection, operation, item, is_own })
        }
        _ => Err(Problem::invalid(violations)),
    }
}
