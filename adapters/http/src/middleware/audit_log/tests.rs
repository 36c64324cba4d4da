use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use application::ports::MockClock;
use application::{AuditLevel, Caller, Clock};
use domain::{Collection, Operation};
use poem::Request;
use poem::http::{Method, StatusCode};
use serde_json::Value;
use tempfile::TempDir;

use super::{AuditLog, AuditSubject, AuditedRequest};
use crate::groups::{GroupSpec, named};

const PATIENCE: Duration = Duration::from_secs(3);

fn open(path: &Path, levels: &[(&str, AuditLevel)]) -> AuditLog {
    let mut clock = MockClock::new();
    clock.expect_now().returning(|| "2026-11-23T08:00:00Z".parse().unwrap());
    let clock: Arc<dyn Clock> = Arc::new(clock);
    let levels: Vec<_> =
        levels.iter().map(|(name, level)| (Collection::named(name).unwrap(), *level)).collect();
    AuditLog::open(path, &levels, PATIENCE, &clock).unwrap()
}

fn opened(levels: &[(&str, AuditLevel)]) -> (TempDir, PathBuf, AuditLog) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    let log = open(&path, levels);
    (folder, path, log)
}

fn begin(log: &AuditLog, group: &str, method: Method, target: &str) -> AuditedRequest {
    let operations = match method {
        Method::GET => &[Operation::Read][..],
        _ => &[Operation::Patch][..],
    };
    let group = GroupSpec::of(Collection::named(group).unwrap());
    let subject = AuditSubject { group: Some(group), operations, kind: "" };
    let mut request = Request::builder().method(method).uri(target.parse().unwrap()).finish();
    request.set_data(Caller::service("test"));
    let mut audited = log.begin(subject, &request);
    audited.recognize(&request);
    audited
}

async fn finish(audited: AuditedRequest, status: StatusCode) -> bool {
    audited.finish(status, &["closed".into()]).await.is_ok()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until a file has lines that the service writes in the background.
async fn lines_of(path: &Path, count: usize) -> Vec<Value> {
    for _ in 0..200 {
        let found = lines(path);
        if found.len() >= count {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{count} lines were expected: {:?}", lines(path));
}

#[tokio::test]
async fn a_level_decides_which_requests_have_a_line_when_they_are_answered() {
    use AuditLevel::{Denied, Reads, Writes};
    for (level, method, status, is_recorded) in [
        (Denied, Method::GET, StatusCode::OK, false),
        (Denied, Method::PATCH, StatusCode::OK, false),
        (Writes, Method::GET, StatusCode::OK, false),
        (Writes, Method::GET, StatusCode::FORBIDDEN, true),
        (Writes, Method::PATCH, StatusCode::OK, true),
        (Writes, Method::PATCH, StatusCode::CONFLICT, true),
        (Reads, Method::GET, StatusCode::OK, true),
        (Reads, Method::GET, StatusCode::NOT_FOUND, true),
        (Reads, Method::PATCH, StatusCode::OK, true),
    ] {
        let (_folder, path, log) = opened(&[("files", level)]);
        let mut audited = begin(&log, "files", method.clone(), "/v1/files");
        audited.reserve().await.unwrap();
        assert!(finish(audited, status).await);
        assert_eq!(lines(&path).len(), usize::from(is_recorded), "{level:?} {method} {status}");
    }
}

#[tokio::test]
async fn refusals_are_recorded_in_every_group_and_say_which_policies_refused() {
    let (_folder, path, log) = opened(&[]);
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS] {
        let target = "/v1/files?q=secret";
        assert!(finish(begin(&log, "files", Method::PATCH, target), status).await);
    }
    let lines = lines_of(&path, 3).await;
    assert_eq!(
        lines[1].to_string(),
        r#"{"time":"2026-11-23T08:00:00Z","request_id":null,"caller":"service:test","acting":null,"client":null,"operation":"patch","group":"files","item":null,"embedded":[],"method":"PATCH","path":"/v1/files","status":403,"policies":["closed"]}"#
    );
}

#[tokio::test]
async fn what_is_embedded_counts_as_read_however_the_query_is_written() {
    let (_folder, path, log) = opened(&[("lib", AuditLevel::Reads)]);
    for (query, is_recorded) in
        [("", false), ("?embed=lib", true), ("?fields=a&%65mbed=lib", true), ("?q=lib", false)]
    {
        let before = lines(&path).len();
        let target = format!("/v1/proposals{query}");
        assert!(finish(begin(&log, "proposals", Method::GET, &target), StatusCode::OK).await);
        let found = lines(&path);
        assert_eq!(found.len() - before, usize::from(is_recorded), "{query}");
        if is_recorded {
            assert_eq!(found[before]["embedded"][0], "lib");
        }
    }
}

/// Pages of the explorer, the feed and other requests without a group may show items of any group.
#[tokio::test]
async fn requests_of_no_group_have_the_highest_level() {
    let (_folder, path, log) = opened(&[("files", AuditLevel::Writes), ("lib", AuditLevel::Reads)]);
    let subject = AuditSubject { group: None, operations: &[], kind: "view" };
    let id = named("files").example_id;
    let uri = format!("/explore/files/{id}/history");
    let request = Request::builder().uri(uri.parse().unwrap()).finish();
    assert!(finish(log.begin(subject, &request), StatusCode::OK).await);
    let lines = lines(&path);
    assert_eq!((&lines[0]["operation"], &lines[0]["item"]), (&"view".into(), &id.into()));
}

#[tokio::test]
async fn a_request_whose_client_went_away_is_recorded_without_a_status() {
    let (_folder, path, log) = opened(&[("files", AuditLevel::Writes)]);
    let mut audited = begin(&log, "files", Method::PATCH, "/v1/files/1");
    audited.reserve().await.unwrap();
    drop(audited);
    assert_eq!(lines_of(&path, 1).await[0]["status"], Value::Null);
}

#[tokio::test]
async fn lines_that_were_lost_are_counted_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit");
    // The last line of a process that was killed is ended before the next begins.
    fs::write(&path, "{\"time\":").unwrap();
    let log = open(&path, &[("files", AuditLevel::Reads)]);
    log.health.count_dropped(7);
    assert!(finish(begin(&log, "files", Method::GET, "/v1/files"), StatusCode::OK).await);
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[1], r#"{"time":"2026-11-23T08:00:00Z","dropped":7}"#);
    assert_eq!((lines[0], lines.len()), ("{\"time\":", 3));
}

#[tokio::test]
async fn a_full_queue_makes_audited_requests_wait_and_drops_other_refusals() {
    let (_folder, path, log) = opened(&[("files", AuditLevel::Reads)]);
    let permits = log.queue.clone();
    let permits = permits.reserve_many(super::QUEUE).await.unwrap();
    let refused = begin(&log, "lib", Method::GET, "/lib");
    assert!(finish(refused, StatusCode::FORBIDDEN).await);
    let mut late = begin(&log, "files", Method::GET, "/v1/files");
    assert!(late.reserve().await.is_err());
    let mut waiting = begin(&log, "files", Method::GET, "/v1/files");
    let (reserved, ()) = tokio::join!(waiting.reserve(), async { drop(permits) });
    reserved.unwrap();
    assert!(finish(waiting, StatusCode::OK).await);
    assert_eq!(lines(&path)[0]["dropped"], 1);
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_is_an_error_with_a_fix() {
    let clock: Arc<dyn Clock> = Arc::new(MockClock::new());
    let path = Path::new("/nonexistent/audit");
    let error = AuditLog::open(path, &[], PATIENCE, &clock).err().unwrap().to_string();
    assert!(error.starts_with("the audit log /nonexistent/audit cannot be opened: "), "{error}");
    assert!(
        error.ends_with("name a file in a folder that is there and that the service may write to")
    );
}
