//! Lists of members: `hide`, `show` and `write`.

use domain::{Content, Mask, MemberPath, Pointer};
use language::error::ErrorCollector;
use language::keys::{self, Keys};

/// Names of the representation that are no members. The facts about content, in `_meta`, are one.
const NO_MEMBERS: [&str; 4] = ["id", "_links", "_embedded", "_meta"];

/// Limit of a list, and of all lists about a group. Each member may be a column of a statement.
pub(crate) const MOST_MEMBERS: usize = 200;

#[derive(Debug)]
pub(crate) struct MemberList {
    pub written: Vec<Box<str>>,
    pub paths: Vec<MemberPath>,
    pub has_callers: bool,
}

impl MemberList {
    /// Reads the list of a key; `None` without it.
    pub fn read(keys: &Keys<'_>, key: &str, errors: &mut ErrorCollector<'_>) -> Option<Self> {
        let node = keys.get(key)?;
        let elements = errors.take(keys::list(node, key)).unwrap_or_default();
        if elements.is_empty() {
            let reason = format!("`{key}` is empty; list members, such as `{key}: [title]`");
            errors.add(node.place, reason);
        }
        if elements.len() > MOST_MEMBERS {
            let reason = format!(
                "`{key}` names {} members; at most {MOST_MEMBERS} are allowed",
                elements.len()
            );
            errors.add(node.place, reason);
        }
        let mut list = Self { written: Vec::new(), paths: Vec::new(), has_callers: false };
        for element in elements.iter().take(MOST_MEMBERS) {
            let Some(scalar) = errors.take(keys::string(element, key)) else { continue };
            list.written.push(scalar.text.as_str().into());
            if scalar.text == Mask::CALLERS {
                list.has_callers = true;
                if key == "write" {
                    let reason = format!(
                        "`write` names `{}`, but it cannot be written; remove it",
                        Mask::CALLERS
                    );
                    errors.add(element.place, reason);
                }
                continue;
            }
            let path = path(key, &scalar.text).map_err(|reason| (element.place, reason));
            let Some(path) = errors.take(path) else { continue };
            if list.paths.contains(&path) {
                let reason = format!("`{key}` names `{}` more than once; remove one", scalar.text);
                errors.add(element.place, reason);
            }
            list.paths.push(path);
        }
        Some(list)
    }

    /// Returns whether the list has a member, or one that holds it.
    pub fn covers(&self, path: &[Box<str>]) -> bool {
        self.paths.iter().any(|listed| path.starts_with(listed))
    }
}

/// Reads the name of a member, or a JSON Pointer.
fn path(key: &str, written: &str) -> Result<MemberPath, String> {
    let pointer = if written.starts_with('/') {
        keys::pointer(key, written)?
    } else {
        Pointer::to_member(written)
    };
    let path: MemberPath = pointer.names().map(Box::from).collect();
    match path.first() {
        _ if written.starts_with(&Content::pointer().to_string()) => Ok(path),
        Some(first) if NO_MEMBERS.contains(&&**first) => Err(format!(
            "`{first}` is not a member, so `{key}` cannot name it; for the names of callers write `{}`",
            Mask::CALLERS
        )),
        _ => Ok(path),
    }
}
