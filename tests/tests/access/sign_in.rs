//! The pages' way to a token: what they are told, and where they may send requests.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
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

/// The longest that discovery may take.
const DISCOVERY: Duration = Duration::from_secs(10);

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

/// Starts an issuer that answers everything with its configuration, in which this is its token endpoint;
/// its URL, and how often it was asked.
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
fn pages_may_reach_a_token_endpoint_of_another_origin() {
    for (token_endpoint, named) in [
        (json!("https://tokens.invalid/oauth2/token"), " https://tokens.invalid"),
        (json!("https://tokens.invalid;script-src/token"), ""),
        (json!("https://*.invalid/token"), ""),
        (json!("http://tokens.invalid/token"), ""),
        (json!(7), ""),
    ] {
        let (issuer, asked) = issuer(&token_endpoint);
        let callers = Callers::new(&[("ana", "")]);
        let more =
            format!("issuers: [{{name: agency, issuer: '{issuer}', swagger_client: pages}}]\n");
        callers.write(|_, line| Some(line.to_owned()), &more);
        let service = callers.serve(Store::Sqlite, &[]);
        let begin = Instant::now();
        // Discovery takes place beside requests; after it the service asks for the keys.
        while asked.load(Ordering::SeqCst) < 2 {
            assert!(begin.elapsed() < DISCOVERY, "the issuer was not asked");
            std::thread::sleep(Duration::from_millis(20));
        }
        for path in PAGES {
            let policy = policy(&service, path);
            let expected = format!("connect-src 'self' {issuer}{named};");
            assert!(policy.contains(&expected), "{path}: {policy}");
            assert!(policy.contains("script-src 'self';"), "{path}: {policy}");
            // People sign in there in a window of its own, and no script sends it anything.
            assert!(!policy.contains("people.invalid"), "{path}: {policy}");
        }
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
