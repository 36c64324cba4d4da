//! The pieces of HAL that several representations have.

use domain::json::push_string;
use domain::{Violation, Violations};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::links;
use crate::time::TIME;

/// Appends a link and a comma. The parts of the URL need no escaping: base URLs, paths and
/// identifiers hold no such character.
///
/// A page has hundreds of links: parts are copied several times as fast as they are formatted.
pub fn push_link(out: &mut String, relation: &str, url: &[&str]) {
    push_all(out, &["\"", relation, "\":{\"href\":\""]);
    push_all(out, url);
    out.push_str("\"},");
}

/// Appends texts.
pub fn push_all(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}

/// Appends a link to a URL that holds what a client sent, and a comma.
pub fn push_escaped_link(out: &mut String, relation: &str, url: &str) {
    push_all(out, &["\"", relation, "\":{\"href\":"]);
    push_string(out, url);
    out.push_str("},");
}

/// Closes an object whose last member left a comma.
pub fn close_object(out: &mut String) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push('}');
}

/// Appends a time as a string.
pub fn push_time(out: &mut String, time: &Timestamp) {
    out.push('"');
    // Writing to a String cannot fail.
    let _ = TIME.print_timestamp(time, &mut *out);
    out.push('"');
}

/// Violations of rules as `_meta` shows them: which rule, where, and what is wrong.
pub fn remarks(base_url: &BaseUrl, violations: &Violations) -> Value {
    let remark = |violation: &Violation| {
        let mut remark = json!({ "code": violation.code, "pointer": violation.pointer.to_string(), "message": violation.detail });
        if let Some(rule) = &violation.rule {
            remark["rule"] = links::rule(base_url, rule).into();
        }
        remark
    };
    violations.iter().map(remark).collect()
}
