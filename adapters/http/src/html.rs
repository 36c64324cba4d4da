//! HTML pages.

use std::sync::LazyLock;

use poem::http::HeaderValue;

use crate::base_url::BaseUrl;
use crate::headers::content_security_policy;

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:42em;margin:3em auto;padding:0 1em}";

/// A page with a heading and a paragraph.
pub fn page(base_url: &BaseUrl, title: &str, text: &str) -> String {
    let (title, text) = (escape(title), escape(text));
    format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1><p>{text}</p><p><a href=\"{base_url}/docs\">All operations</a></p></body></html>"
    )
}

/// The Content-Security-Policy of these pages: nothing runs, and nothing is loaded but the icon.
pub fn policy() -> HeaderValue {
    static POLICY: LazyLock<HeaderValue> =
        LazyLock::new(|| content_security_policy::of(&format!("<style>{STYLE}</style>"), ""));
    POLICY.clone()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
