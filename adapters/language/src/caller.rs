//! Sample callers for the test cases in rule and policy files.

use std::sync::Arc;

use domain::{Members, Principal};

use crate::error::{ErrorCollector, Located};
use crate::keys::{self, Form, Keys, Table, key};
use crate::yaml::{Content, Node};

const MOST_BYTES: usize = 64 << 10;

pub static CALLER: Table = Table::open("`caller`").with(&[
    key("id", Form::OneOf(&[Form::Null, STRING]), "The identifier, such as agency:1.")
        .required("'agency:1'"),
    key("roles", Form::List(&STRING), "The roles."),
    key("acting", STRING, "The identifier of who acts for the caller."),
    key("client", STRING, "The program that is used."),
]);

const STRING: Form = Form::String(2_000);
/// Reads a caller: an identifier, or a mapping with one. `Some(None)` is anonymous: null, or a
/// mapping whose `id` is null. `None` means an error.
pub fn read(node: &Node, errors: &mut ErrorCollector<'_>) -> Option<Option<Arc<Principal>>> {
    let Content::Mapping(_) = &node.content else {
        if node.is_null() {
            return Some(None);
        }
        let id = errors.take(keys::string(node, "caller"))?;
        return Some(Some(Arc::new(Principal::named(id.text.as_str()))));
    };
    let before = errors.count();
    let keys = Keys::of(node, &CALLER, None, errors)?;
    let attributes = errors.take(attributes(node));
    let id = match keys.get("id").filter(|id| !id.is_null()) {
        Some(id) => Some(errors.take(keys::string(id, "id"))?.text.as_str()),
        None => None,
    };
    let roles = keys.elements("roles").iter().filter_map(|role| role.scalar());
    let roles = roles.map(|role| role.text.as_str().into()).collect();
    let boxed = |name: &str| keys.string(name).map(Into::into);
    let attributes = attributes.filter(|_| errors.count() == before)?;
    Some(id.map(|id| {
        let by = (boxed("acting"), boxed("client"));
        Arc::new(Principal::with(id.into(), roles, &attributes, by))
    }))
}

fn attributes(node: &Node) -> Result<Members, Located> {
    let json = node.json(MOST_BYTES, &format!("a caller may have at most {MOST_BYTES} bytes"))?;
    let read = Members::read(json.as_bytes());
    read.ok().flatten().ok_or_else(|| (node.place, "invalid caller".to_owned()))
}
