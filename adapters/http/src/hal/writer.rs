//! Shared parts of HAL.

use domain::json::push_string;
use domain::{Violation, Violations};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::base_url::BaseUrl;
use crate::links;
use crate::time::TIME;

/// The URL parts must need no escaping. Copying them is several times as fast as formatting, and
/// a page has hundreds of links.
pub fn push_link(out: &mut String, relation: &str, url: &[&str]) {
    push_all(out, &["\"", relation, "\":{\"href\":\""]);
    push_all(out, url);
    out.push_str("\"},");
}

pub fn push_all(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}

/// Like [`push_link`], for a URL that needs escaping because it contains client input.
pub fn push_escaped_link(out: &mut String, relation: &str, url: &str) {
    push_all(out, &["\"", relation, "\":{\"href\":"]);
    push_string(out, url);
    out.push_str("},");
}

pub fn close_object(out: &mut String) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push('}');
}

pub fn push_time(out: &mut String, time: &Timestamp) {
    out.push('"');
    // Writing to a String cannot fail.
    let _ = TIME.print_timestamp(time, &mut *out);
    out.push('"');
}

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
