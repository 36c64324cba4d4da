//! The Content-Security-Policy of a page whose scripts and styles are inline: each is admitted by
//! its hash, and nothing else runs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use poem::http::HeaderValue;
use sha2::{Digest, Sha256};

const REST: &str =
    "img-src data: 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The policy of the page `html`, with the directives in `more`, each followed by a semicolon.
pub fn of(html: &str, more: &str) -> HeaderValue {
    let [scripts, styles] = ["script", "style"].map(|element| sources(html, element));
    let policy =
        format!("default-src 'none'; script-src {scripts}; style-src {styles}; {more}{REST}");
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The hashes of the inline elements of a name (CSP level 3 section 2.3.1).
fn sources(html: &str, element: &str) -> String {
    let (start, end) = (format!("<{element}"), format!("</{element}>"));
    let mut sources = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once(&start) {
        let content = after.split_once('>').and_then(|(_, content)| content.split_once(&end));
        let Some((content, after)) = content else { break };
        sources.push(format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content))));
        rest = after;
    }
    if sources.is_empty() { "'none'".to_owned() } else { sources.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn inline_elements_are_admitted_by_their_hashes() {
        let page = "<style>b{}</style><script charset=\"x\">abc</script><script>abc</script>";
        let policy = of(page, "connect-src 'self'; ");
        let abc = "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='";
        let policy = policy.to_str().unwrap();
        assert!(
            policy.contains(&format!("script-src {abc} {abc}; style-src 'sha256-")),
            "{policy}"
        );
        assert!(policy.contains("; connect-src 'self'; img-src"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(of("", "").to_str().unwrap().contains("script-src 'none'"));
    }
}
