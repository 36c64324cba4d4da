//! The pages' way to a token: what they are told, and where they may send requests.

use serde_json::json;
use tests::{Service, Store};

use crate::world::Callers;

/// An issuer that nobody answers for: the pages are made without it.
const ISSUERS: &str = "issuers:
  - name: agency
    issuer: https://id.invalid/realms/research
    swagger_client: pages
    scopes: {proposals.read: [read], proposals.write: [create, replace]}
  - {name: other, issuer: https://other.invalid}
";

const PAGES: [&str; 5] = ["/docs", "/explore", "/explore/files", "/guide", "/problems"];

fn policy(service: &Service, path: &str) -> String {
    let answer = service.get(path).accept("text/html").send_unchecked();
    answer.needed_header("content-security-policy").to_owned()
}

#[test]
fn pages_are_told_how_to_sign_in_and_may_reach_the_issuer() {
    let callers = Callers::new(&[("ana", "")]);
    callers.write(|_, line| Some(line.to_owned()), ISSUERS);
    let service = callers.serve(Store::Sqlite, &[]);
    let base_url = service.get("/.well-known/oauth-protected-resource").send().expect(200).value();
    let base_url = base_url["resource"].as_str().unwrap();
    let data = service.get("/docs/sign-in.json").send().expect(200);
    let expected = json!({
        "resource": base_url,
        "receiver": format!("{base_url}/docs/oauth-receiver.html"),
        "scopes": ["proposals.read", "proposals.write"],
        "issuers": [{
            "url": "https://id.invalid/realms/research",
            "configuration": "https://id.invalid/realms/research/.well-known/openid-configuration",
            "client": "pages",
        }],
    });
    assert_eq!(data.value(), expected);
    for path in PAGES {
        let policy = policy(&service, path);
        assert!(policy.contains("connect-src 'self' https://id.invalid;"), "{path}: {policy}");
        assert!(!policy.contains("other.invalid"), "{path}: {policy}");
        let page = service.get(path).accept("text/html").send_unchecked();
        assert!(page.text().contains("data-sign-in=\"/docs/sign-in.json\""), "{page}");
    }
    let receiver = service.get("/docs/oauth-receiver.html?code=a&state=b").send().expect(200);
    let policy = receiver.needed_header("content-security-policy");
    assert!(!policy.contains("connect-src") && policy.starts_with("default-src 'none'; script"));
    for part in ["code=a", "state=b"] {
        assert!(!receiver.text().contains(part), "{receiver}");
    }
}

#[test]
fn without_identity_pages_do_not_speak_of_it() {
    let service = Service::start(Store::Sqlite);
    for path in PAGES {
        let page = service.get(path).accept("text/html").send().expect(200);
        assert!(!page.text().contains("sign-in"), "{page}");
        assert!(policy(&service, path).contains("connect-src 'self';"));
    }
    let data = service.get("/docs/sign-in.json").send().expect(200).value();
    assert_eq!(data["issuers"], json!([]));
}
