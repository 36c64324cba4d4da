use application::{AuditLevel, Caller};
use domain::{Collection, ItemId, Operation};
use poem::Request;
use poem::http::{Method, StatusCode, Uri};
use serde_json::json;
use tokio::sync::mpsc::OwnedPermit;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout, timeout_at};

use super::AuditLog;
use super::writer::AuditLine;
use crate::groups::Group;
use crate::problem::{Problem, Result};
use crate::request::caller::{ANONYMOUS, caller_of};
use crate::request::details::request_id_of;

#[derive(Clone, Copy, Debug)]
pub struct AuditSubject {
    /// `None` if items of several groups may be shown.
    pub group: Option<Group>,
    pub operations: &'static [Operation],
    pub kind: &'static str,
}

impl AuditSubject {
    fn is_write(&self) -> bool {
        let is_read = |operation| matches!(operation, Operation::Read | Operation::History);
        !self.operations.iter().copied().all(is_read)
    }

    fn operation(&self) -> String {
        if self.operations.is_empty() {
            return self.kind.to_owned();
        }
        self.operations.iter().map(|operation| operation.name()).collect::<Vec<_>>().join(",")
    }
}

pub struct AuditedRequest {
    log: AuditLog,
    level: AuditLevel,
    subject: AuditSubject,
    embedded: Vec<Collection>,
    time: String,
    request_id: Option<String>,
    caller: Caller,
    item: Option<String>,
    method: Method,
    uri: Uri,
    /// False if the request was rejected for lack of a line, so that it does not wait again.
    is_performed: bool,
    /// Reserved before the request runs, so that its line survives a client that disconnects.
    permit: Option<OwnedPermit<AuditLine>>,
}

impl AuditedRequest {
    pub(super) fn new(
        log: &AuditLog,
        level: AuditLevel,
        subject: AuditSubject,
        embedded: Vec<Collection>,
        request: &Request,
    ) -> Self {
        Self {
            log: log.clone(),
            level,
            subject,
            embedded,
            time: log.clock.now().to_string(),
            request_id: request_id_of(request).map(str::to_owned),
            caller: ANONYMOUS.clone(),
            item: item_of(subject.group, request),
            method: request.method().clone(),
            uri: request.uri().clone(),
            is_performed: true,
            permit: None,
        }
    }

    pub fn recognize(&mut self, request: &Request) {
        self.caller = caller_of(request).clone();
    }

    /// Reserves the line that an audited request must have, before it runs.
    pub async fn reserve(&mut self) -> Result<()> {
        if !self.is_required(None) {
            return Ok(());
        }
        let reserved = if self.log.health.is_failing() {
            Err(unrecorded())
        } else {
            self.acquire_permit().await
        };
        self.is_performed = reserved.is_ok();
        self.permit = Some(reserved?);
        Ok(())
    }

    /// Waits until a required line is written.
    pub async fn finish(mut self, status: StatusCode, policies: &[Box<str>]) -> Result<()> {
        if !self.is_performed {
            return Ok(());
        }
        if !self.is_required(Some(status)) {
            if is_refusal(status) {
                let line = AuditLine { text: self.line(Some(status), policies), written: None };
                if self.log.queue.try_send(line).is_err() {
                    self.log.health.count_dropped(1);
                }
            }
            return Ok(());
        }
        let deadline = Instant::now() + self.log.time_limit;
        let permit = match self.permit.take() {
            Some(permit) => permit,
            None => self.acquire_permit().await?,
        };
        let (written, is_written) = oneshot::channel();
        let text = self.line(Some(status), policies);
        permit.send(AuditLine { text, written: Some(written) });
        match timeout_at(deadline, is_written).await {
            Ok(Ok(true)) => Ok(()),
            _ => Err(unrecorded()),
        }
    }

    /// `None` means: for every status.
    fn is_required(&self, status: Option<StatusCode>) -> bool {
        match self.level {
            AuditLevel::Denied => false,
            AuditLevel::Writes => self.subject.is_write() || status.is_some_and(is_refusal),
            AuditLevel::Reads => true,
        }
    }

    async fn acquire_permit(&self) -> Result<OwnedPermit<AuditLine>> {
        let permit = timeout(self.log.time_limit, self.log.queue.clone().reserve_owned()).await;
        permit.ok().and_then(Result::ok).ok_or_else(unrecorded)
    }

    /// Omits the query, which may hold personal data, and all headers except the request id.
    fn line(&self, status: Option<StatusCode>, policies: &[Box<str>]) -> String {
        let principal = self.caller.principal();
        let embedded: Vec<_> = self.embedded.iter().map(|collection| collection.name()).collect();
        json!({
            "time": self.time,
            "request_id": self.request_id,
            "caller": self.caller.id(),
            "acting": principal.and_then(|principal| principal.acting.as_deref()),
            "client": principal.and_then(|principal| principal.client.as_deref()),
            "operation": self.subject.operation(),
            "group": self.subject.group.map(|group| group.collection.name()),
            "item": self.item,
            "embedded": embedded,
            "method": self.method.as_str(),
            "path": self.uri.path(),
            "status": status.map(|status| status.as_u16()),
            "policies": policies,
        })
        .to_string()
    }
}

impl Drop for AuditedRequest {
    /// Records a disconnected client: the request may have been performed.
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            permit.send(AuditLine { text: self.line(None, &[]), written: None });
        }
    }
}

/// Without a group, takes a path segment that looks like an id.
fn item_of(group: Option<Group>, request: &Request) -> Option<String> {
    let id = match group {
        Some(group) => request.raw_path_param(group.item_parameter),
        None => request.uri().path().split('/').find(|part| ItemId::parse(part).is_some()),
    };
    id.map(str::to_owned)
}

fn is_refusal(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::MISDIRECTED_REQUEST
            | StatusCode::TOO_MANY_REQUESTS
    )
}

fn unrecorded() -> Problem {
    Problem::unavailable(
        "Requests of this kind are audited, but the audit log cannot be written now. If this was a write, the history of the item shows whether it was done.",
    )
}
