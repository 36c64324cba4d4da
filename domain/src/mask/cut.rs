//! The visible part of an item's members.

use std::sync::Arc;

use super::{Node, VisibleMembers};
use crate::json::{Kind, Value};

impl VisibleMembers {
    /// Returns the visible part of the encoded members.
    pub fn cut(&self, members: &Arc<str>) -> Arc<str> {
        if self.is_all_visible(&self.mask.root) {
            return Arc::clone(members);
        }
        let mut out = String::with_capacity(members.len());
        if !self.push(&mut out, Value::from_encoded(members), &self.mask.root) {
            out.push_str("{}");
        }
        out.into()
    }

    /// Appends the visible part of a value. Returns `false` if there is none.
    pub(super) fn push(&self, out: &mut String, value: Value<'_>, node: &Node) -> bool {
        let is_visible = self.is_visible(node);
        let start = out.len();
        let (mut is_empty, mut was_empty) = (true, true);
        match (node.members.is_empty(), value.kind()) {
            (false, Kind::Object) => {
                out.push('{');
                for (name, member) in value.entries().into_iter().flatten() {
                    was_empty = false;
                    push_part(out, &mut is_empty, |out| {
                        out.push('"');
                        out.push_str(name);
                        out.push_str("\":");
                        self.push(out, member, &node.child(name))
                    });
                }
                out.push('}');
            }
            (false, Kind::Array) => {
                out.push('[');
                for element in value.elements().into_iter().flatten() {
                    was_empty = false;
                    push_part(out, &mut is_empty, |out| self.push(out, element, node));
                }
                out.push(']');
            }
            _ => {
                if is_visible {
                    out.push_str(value.encoded());
                }
                return is_visible;
            }
        }
        let is_pushed = if was_empty { is_visible } else { !is_empty };
        if !is_pushed {
            out.truncate(start);
        }
        is_pushed
    }
}

/// Appends a part after a comma, unless `push` returns `false`.
fn push_part(out: &mut String, is_empty: &mut bool, push: impl FnOnce(&mut String) -> bool) {
    let before = out.len();
    if !*is_empty {
        out.push(',');
    }
    if push(out) {
        *is_empty = false;
    } else {
        out.truncate(before);
    }
}
