//! Lines of requests over mocked ports.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use application::Ports;
use application::ports::{MockClock, MockIdentity, MockItemRepository};
use domain::Principal;
use jiff::Timestamp;
use poem::http::Method;
use poem::{Endpoint as _, Request, RequestBuilder};
use serde_json::Value;
use tokio::time::timeout;

use super::{AccessLog, escaped};
use crate::app::tests::hanging::HangingHistory;
use crate::app::tests::mocked;
use crate::service;

const VERSION: &str = "/v1/files/01890a5d-ac96-774b-bcce-b302099a8050/versions/1";

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn request(method: Method, target: &str) -> RequestBuilder {
    Request::builder().method(method).uri(target.parse().unwrap()).header("host", "example.org")
}

fn get(target: &str) -> RequestBuilder {
    request(Method::GET, target)
}

/// Sends requests to a service of one caller, whose versions cannot be read; those that are not
/// answered soon are given up. Returns the lines that are written.
async fn logged(is_json: bool, requests: impl IntoIterator<Item = Request>) -> Vec<String> {
    let mut clock = MockClock::new();
    clock.expect_now().return_const(Timestamp::UNIX_EPOCH);
    let lines = Lines::default();
    let trusted = [IpAddr::from([127, 0, 0, 1]).into()];
    let (log, writer) = AccessLog::start(lines.clone(), is_json, &trusted, Arc::new(clock));
    let (ports, mut options) = mocked(MockItemRepository::new());
    let mut identity = MockIdentity::new();
    let caller = Arc::new(Principal::named("agency:1f 0c"));
    identity.expect_recognize().returning(move |_| Ok(Arc::clone(&caller)));
    let (identity, history) = (Some(Arc::new(identity) as _), Arc::new(HangingHistory));
    let ports = Ports { identity, history, ..ports };
    options.access_log = Some(Arc::clone(&log));
    let service = service(&ports, options);
    for request in requests {
        let _ = timeout(Duration::from_millis(50), service.call(request)).await;
    }
    // Others may still have the log, such as who collects its metrics.
    drop(writer);
    let lines = lines.0.lock().unwrap();
    String::from_utf8(lines.clone()).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_caller_of_a_request_that_is_given_up_is_known() {
    let authorized = get(VERSION).header("authorization", "Bearer a").finish();
    let lines = logged(true, [authorized, get(VERSION).finish()]).await;
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line["status"].is_null()), "{lines:?}");
    assert_eq!(
        [&lines[0]["caller"], &lines[1]["caller"]],
        [&Value::from("agency:1f 0c"), &Value::Null]
    );
}

#[tokio::test]
async fn an_answer_to_head_has_no_body() {
    let requests = [Method::GET, Method::HEAD].map(|it| request(it, "/healthz").finish());
    let lines = logged(true, requests).await;
    let of = |line: &String| serde_json::from_str::<Value>(line).unwrap();
    let (of_get, of_head) = (of(&lines[0]), of(&lines[1]));
    assert_eq!((&of_get["status"], &of_head["status"]), (&Value::from(200), &Value::from(200)));
    assert!(of_get["bytes"].as_u64().unwrap() > 0, "{of_get}");
    assert_eq!(of_head["bytes"], 0);
}

fn without_time(line: &str) -> String {
    let mut fields: Vec<_> = line.split(' ').collect();
    let took = fields.remove(fields.len() - 2);
    assert!(took.parse::<f64>().is_ok() && took.split_once('.').unwrap().1.len() == 6, "{line}");
    fields.join(" ")
}

#[tokio::test]
async fn text_is_the_common_log_format_with_the_time_taken_and_the_id_behind() {
    let agent = "x\" 200 1 \"-\" \\x22";
    let requests = [
        get("/healthz?secret=1").header("x-request-id", "a").header("user-agent", agent).finish(),
        get(VERSION).header("x-request-id", "b").header("authorization", "Bearer a").finish(),
        request(Method::from_bytes(b"M'~").unwrap(), "/a\"b%0A")
            .header("x-request-id", "c")
            .header("x-forwarded-for", "192.0.2.7\" forged")
            .finish(),
        request(Method::HEAD, "/healthz").header("x-request-id", "d").finish(),
    ];
    let lines = logged(false, requests).await;
    let bytes = lines[0].split(' ').nth(9).unwrap();
    assert!(bytes.parse::<u64>().unwrap() > 0, "{}", lines[0]);
    let expected = [
        format!("- - - [01/Jan/1970:00:00:00 +0000] \"GET /healthz HTTP/1.1\" 200 {bytes} a"),
        format!(
            "- - agency:1f\\x200c [01/Jan/1970:00:00:00 +0000] \"GET {VERSION} HTTP/1.1\" - - b"
        ),
        "- - - [01/Jan/1970:00:00:00 +0000] \"M'~ /a\\\"b%0A HTTP/1.1\" 404".to_owned(),
        "- - - [01/Jan/1970:00:00:00 +0000] \"HEAD /healthz HTTP/1.1\" 200 - d".to_owned(),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:#?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(without_time(line).starts_with(&expected), "{line}\n{expected}");
    }
}

#[test]
fn strings_are_escaped_as_in_apaches_logs() {
    for (text, expected) in [
        ("", ""),
        ("GET /a?b HTTP/1.1", "GET /a?b HTTP/1.1"),
        ("a\"b\\c", "a\\\"b\\\\c"),
        ("\n\r\t\u{8}\u{b}", "\\n\\r\\t\\b\\v"),
        ("\u{0}\u{1b}[0m\u{7f}", "\\x00\\x1b[0m\\x7f"),
        ("\u{e9}\u{85}\u{2028}", "\\xc3\\xa9\\xc2\\x85\\xe2\\x80\\xa8"),
    ] {
        assert_eq!(escaped(text), expected, "{text:?}");
    }
}
