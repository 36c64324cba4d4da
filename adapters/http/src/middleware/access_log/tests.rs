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

use super::AccessLog;
use crate::app::tests::mocked;
use crate::endpoints::resources::tests::standbys::hanging::HangingHistory;
use crate::service;

const VERSION: &str = "/v1/files/01890a5d-ac96-774b-bcce-b302099a8050/versions/1";

/// Lines that were written.
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

fn get(target: &str) -> RequestBuilder {
    let request = Request::builder().method(Method::GET).uri(target.parse().unwrap());
    request.header("host", "example.org")
}

/// Sends requests to a service of one caller, whose versions cannot be read; those that are not
/// answered soon are given up. Returns the lines that are written.
async fn logged(is_json: bool, requests: impl IntoIterator<Item = Request>) -> Vec<String> {
    let mut clock = MockClock::new();
    clock.expect_now().return_const(Timestamp::UNIX_EPOCH);
    let lines = Lines::default();
    let trusted = [(IpAddr::from([127, 0, 0, 1]), 32)];
    let log = AccessLog::to(lines.clone(), is_json, &trusted, Arc::new(clock));
    let (ports, mut options) = mocked(MockItemRepository::new());
    let mut identity = MockIdentity::new();
    let caller = Arc::new(Principal::named("agency:1f 0c"));
    identity.expect_recognize().returning(move |_| Ok(Arc::clone(&caller)));
    let (identity, history) = (Some(Arc::new(identity) as _), Arc::new(HangingHistory));
    let ports = Ports { identity, history, ..ports };
    options.access_log = Some(Arc::new(log));
    let service = service(&ports, options);
    for request in requests {
        let _ = timeout(Duration::from_millis(50), service.call(request)).await;
    }
    drop(service);
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
    let head = Request::builder().method(Method::HEAD).uri("/healthz".parse().unwrap());
    let requests = [get("/healthz").finish(), head.header("host", "example.org").finish()];
    let lines = logged(true, requests).await;
    let of = |line: &String| serde_json::from_str::<Value>(line).unwrap();
    let (of_get, of_head) = (of(&lines[0]), of(&lines[1]));
    assert_eq!((&of_get["status"], &of_head["status"]), (&Value::from(200), &Value::from(200)));
    assert!(of_get["bytes"].as_u64().unwrap() > 0, "{of_get}");
    assert_eq!(of_head["bytes"], 0);
}
