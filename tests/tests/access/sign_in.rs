//! How pages get a token: the issuers that they know, and the origins that they may send requests to.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tests::{Service, Store};

use crate::world::{Callers, soon};

/// Issuers without an answer: the pages are made without them.
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

/// Starts an issuer that answers every request with its configuration, with this token endpoint; returns
/// its URL, and the number of requests.
fn issuer(token_endpoint: &Value) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let body = json!({
        "issuer": url, "jwks_uri": format!("{url}/keys"), "token_endpoint": token_endpoint,
        "authorization_endpoint": "https://people.invalid/authorize", "keys": [],
    });
    let asked = Arc::<AtomicUsize>::default();
    let counter = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, body) = (stream.unwrap(), body.to_string());
            // A request without a body fits into one read.
            let _ = stream.read(&mut [0; 4096]);
            counter.fetch_add(1, Ordering::SeqCst);
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close");
            let _ = write!(stream, "{head}\r\n\r\n{body}");
        }
    });
    (url, asked)
}

#[test]
fn pages_know_how_to_sign_in_and_may_reach_the_origins_of_issuers() {
    let callers = Callers::new(&[("ana", "")]);
    let issuers = [
        json!("https://tokens.invalid/oauth2/token"),
        json!("https://tokens.invalid;script-src/token"),
        json!("https://*.invalid/token"),
        json!("http://tokens.invalid/token"),
        json!(7),
    ]
    .map(|token_endpoint| issuer(&token_endpoint));
    let lines = issuers.iter().enumerate().map(|(number, (url, _))| {
        format!("  - {{name: issuer{number}, issuer: '{url}', swagger_client: pages}}\n")
    });
    callers.write(|_| true, &lines.fold(ISSUERS.to_owned(), |text, line| text + &line));
    let service = callers.serve(Store::Sqlite, &[]);
    let base_url = service.get("/.well-known/oauth-protected-resource").send().expect(200).value();
    let base_url = base_url["resource"].as_str().unwrap();
    let urls = issuers.iter().map(|(url, _)| url.as_str());
    let urls: Vec<_> = ["https://id.invalid/realms/research"].into_iter().chain(urls).collect();
    let expected = json!({
        "resource": base_url,
        "receiver": format!("{base_url}/docs/oauth-receiver.html"),
        "scopes": ["proposals.read", "proposals.write"],
        "issuers": urls.iter().map(|url| json!({
            "url": url,
            "configuration": format!("{url}/.well-known/openid-configuration"),
            "client": "pages",
        })).collect::<Vec<_>>(),
    });
    assert_eq!(service.get("/docs/sign-in.json").send().expect(200).value(), expected);
    // Discovery takes place in the background; after it the service asks for the keys.
    soon("discovery", || issuers.iter().all(|(_, asked)| asked.load(Ordering::SeqCst) >= 2));
    // People sign in at `people.invalid` in a separate window, and no script sends requests to it.
    let origins = urls.iter().map(|url| url.trim_end_matches("/realms/research"));
    let mut origins: Vec<_> =
        origins.chain(["connect-src", "'self'", "https://tokens.invalid"]).collect();
    origins.sort_unstable();
    for path in PAGES {
        let policy = policy(&service, path);
        let directive = policy.split("; ").find(|it| it.starts_with("connect-src")).unwrap();
        let mut found: Vec<_> = directive.split(' ').collect();
        found.sort_unstable();
        assert_eq!(found, origins, "{path}: {policy}");
        assert!(policy.contains("script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("people.invalid"), "{path}: {policy}");
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
fn without_identity_pages_do_not_mention_it_and_responses_may_be_shared() {
    let service = Service::start(Store::Sqlite);
    for path in PAGES {
        let page = service.get(path).accept("text/html").send().expect(200);
        assert!(!page.text().contains("sign-in"), "{page}");
        assert!(policy(&service, path).contains("connect-src 'self';"));
    }
    let data = service.get("/docs/sign-in.json").send().expect(200).value();
    assert_eq!(data["issuers"], json!([]));
    let answer = service.get("/v1/proposals").send().expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-cache"), "{answer}");
}
