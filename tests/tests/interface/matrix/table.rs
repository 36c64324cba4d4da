//! The rows of the specification, and what no row takes.

use crate::{PROPOSAL, UNKNOWN_ID};

/// One row of the tables in 4.2 to 4.5, for one group of 4.3.
pub(super) struct Row {
    /// The name in the vendor type `application/vnd.<group>.v1+json`.
    pub(super) group: &'static str,
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) success: u16,
    /// Every other status the row can answer: those of the specification, and 400 and 422 where a
    /// body is taken.
    pub(super) refusals: &'static [u16],
}

const fn row(
    group: &'static str,
    method: &'static str,
    path: &'static str,
    success: u16,
    refusals: &'static [u16],
) -> Row {
    Row { group, method, path, success, refusals }
}

/// One line of 4.3: a group at its collection path.
pub(super) struct Group {
    pub(super) name: &'static str,
    pub(super) collection: &'static str,
    /// A body that the group takes.
    pub(super) body: &'static str,
    pub(super) rows: &'static [Row],
}

const OPEN: &str = r#"{"title":"Anything","amount":100.10}"#;

pub(super) const GROUPS: &[Group] = &[
    Group {
        name: "proposedprograms",
        collection: "/v1/proposedprograms",
        body: OPEN,
        rows: &[
            row("proposedprograms", "GET", "/v1/proposedprograms", 200, &[406, 415]),
            row("proposedprograms", "POST", "/v1/proposedprograms", 201, &[400, 406, 415, 422]),
            row(
                "proposedprograms",
                "GET",
                "/v1/proposedprograms/:proposedprograms_id",
                200,
                &[404, 406, 415],
            ),
            row(
                "proposedprograms",
                "PATCH",
                "/v1/proposedprograms/:proposedprograms_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "proposedprograms",
                "PUT",
                "/v1/proposedprograms/:proposedprograms_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "proposedprograms",
                "DELETE",
                "/v1/proposedprograms/:proposedprograms_id",
                204,
                &[404, 406, 415],
            ),
        ],
    },
    Group {
        name: "proposedprograms status",
        collection: "/status",
        body: OPEN,
        rows: &[
            row("proposedprograms", "GET", "/status", 200, &[406, 415]),
            row("proposedprograms", "POST", "/status", 201, &[400, 406, 415, 422]),
            row("proposedprograms", "GET", "/status/:status_id", 200, &[404, 406, 415]),
            row("proposedprograms", "PATCH", "/status/:status_id", 200, &[400, 404, 406, 415, 422]),
            row("proposedprograms", "PUT", "/status/:status_id", 200, &[400, 404, 406, 415, 422]),
            row("proposedprograms", "DELETE", "/status/:status_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "gadscores",
        collection: "/v1/gadscores",
        body: OPEN,
        rows: &[
            row("gadscores", "GET", "/v1/gadscores", 200, &[406, 415]),
            row("gadscores", "POST", "/v1/gadscores", 201, &[400, 406, 415, 422]),
            row("gadscores", "GET", "/v1/gadscores/:gadscores_id", 200, &[404, 406, 415]),
            row(
                "gadscores",
                "PATCH",
                "/v1/gadscores/:gadscores_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row("gadscores", "PUT", "/v1/gadscores/:gadscores_id", 200, &[400, 404, 406, 415, 422]),
            row("gadscores", "DELETE", "/v1/gadscores/:gadscores_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "gadscores status",
        collection: "/status",
        body: OPEN,
        rows: &[
            row("gadscores", "GET", "/status", 200, &[406, 415]),
            row("gadscores", "POST", "/status", 201, &[400, 406, 415, 422]),
            row("gadscores", "GET", "/status/:status_id", 200, &[404, 406, 415]),
            row("gadscores", "PATCH", "/status/:status_id", 200, &[400, 404, 406, 415, 422]),
            row("gadscores", "PUT", "/status/:status_id", 200, &[400, 404, 406, 415, 422]),
            row("gadscores", "DELETE", "/status/:status_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "statuses",
        collection: "/v1/statuses",
        body: OPEN,
        rows: &[
            row("statuses", "GET", "/v1/statuses", 200, &[406, 415]),
            row("statuses", "POST", "/v1/statuses", 201, &[400, 406, 415, 422]),
            row("statuses", "GET", "/v1/statuses/:statuses_id", 200, &[404, 406, 415]),
            row("statuses", "PATCH", "/v1/statuses/:statuses_id", 200, &[400, 404, 406, 415, 422]),
            row("statuses", "PUT", "/v1/statuses/:statuses_id", 200, &[400, 404, 406, 415, 422]),
            row("statuses", "DELETE", "/v1/statuses/:statuses_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "files",
        collection: "/v1/files",
        body: OPEN,
        rows: &[
            row("files", "GET", "/v1/files", 200, &[406, 415]),
            row("files", "POST", "/v1/files", 201, &[400, 406, 415, 422]),
            row("files", "GET", "/v1/files/:files_id", 200, &[404, 406, 415]),
            row("files", "PATCH", "/v1/files/:files_id", 200, &[400, 404, 406, 415, 422]),
            row("files", "PUT", "/v1/files/:files_id", 200, &[400, 404, 406, 415, 422]),
            row("files", "DELETE", "/v1/files/:files_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "lib",
        collection: "/lib",
        body: OPEN,
        rows: &[
            row("lib", "GET", "/lib", 200, &[406, 415]),
            row("lib", "POST", "/lib", 201, &[400, 406, 415, 422]),
            row("lib", "GET", "/lib/:lib_id", 200, &[404, 406, 415]),
            row("lib", "PATCH", "/lib/:lib_id", 200, &[400, 404, 406, 415, 422]),
            row("lib", "PUT", "/lib/:lib_id", 200, &[400, 404, 406, 415, 422]),
            row("lib", "DELETE", "/lib/:lib_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "proposals",
        collection: "/v1/proposals",
        body: PROPOSAL,
        rows: &[
            row("proposals", "GET", "/v1/proposals", 200, &[406, 415]),
            row("proposals", "POST", "/v1/proposals", 201, &[400, 406, 415, 422]),
            row("proposals", "GET", "/v1/proposals/:proposals_id", 200, &[404, 406, 415]),
            row("proposals", "PUT", "/v1/proposals/:proposals_id", 200, &[400, 404, 406, 415, 422]),
            row(
                "proposals",
                "POST",
                "/v1/proposals/:proposals_id",
                201,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "proposals",
                "PATCH",
                "/v1/proposals/:proposals_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row("proposals", "DELETE", "/v1/proposals/:proposals_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "proposals lib",
        collection: "/v1/proposals/:proposals_id/lib",
        body: OPEN,
        rows: &[
            row("proposals", "GET", "/v1/proposals/:proposals_id/lib", 200, &[404, 406, 415]),
            row(
                "proposals",
                "POST",
                "/v1/proposals/:proposals_id/lib",
                201,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "proposals",
                "GET",
                "/v1/proposals/:proposals_id/lib/:lib_id",
                200,
                &[404, 406, 415],
            ),
            row(
                "proposals",
                "PATCH",
                "/v1/proposals/:proposals_id/lib/:lib_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "proposals",
                "PUT",
                "/v1/proposals/:proposals_id/lib/:lib_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "proposals",
                "DELETE",
                "/v1/proposals/:proposals_id/lib/:lib_id",
                204,
                &[404, 406, 415],
            ),
        ],
    },
    Group {
        name: "proposals status",
        collection: "/status",
        body: OPEN,
        rows: &[
            row("proposals", "GET", "/status", 200, &[406, 415]),
            row("proposals", "POST", "/status", 201, &[400, 406, 415, 422]),
            row("proposals", "GET", "/status/:status_id", 200, &[404, 406, 415]),
            row("proposals", "PATCH", "/status/:status_id", 200, &[400, 404, 406, 415, 422]),
            row("proposals", "PUT", "/status/:status_id", 200, &[400, 404, 406, 415, 422]),
            row("proposals", "DELETE", "/status/:status_id", 204, &[404, 406, 415]),
        ],
    },
    Group {
        name: "cashprogram",
        collection: "/v1/cashprogram",
        body: OPEN,
        rows: &[
            row("cashprogram", "GET", "/v1/cashprogram", 200, &[406, 415]),
            row("cashprogram", "POST", "/v1/cashprogram", 201, &[400, 406, 415, 422]),
            row("cashprogram", "PUT", "/v1/cashprogram", 200, &[400, 406, 415, 422]),
            row("cashprogram", "GET", "/v1/cashprogram/:cashprogram_id", 200, &[404, 406, 415]),
            row(
                "cashprogram",
                "PATCH",
                "/v1/cashprogram/:cashprogram_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "cashprogram",
                "PUT",
                "/v1/cashprogram/:cashprogram_id",
                200,
                &[400, 404, 406, 415, 422],
            ),
            row(
                "cashprogram",
                "POST",
                "/v1/cashprogram/:cashprogram_id",
                201,
                &[400, 404, 406, 415, 422],
            ),
            row("cashprogram", "DELETE", "/v1/cashprogram/:cashprogram_id", 204, &[404, 406, 415]),
        ],
    },
];

/// The methods that `Allow` names at each path.
pub(super) const ALLOWED: &[(&str, &[&str])] = &[
    ("/v1/proposedprograms", &["GET", "HEAD", "POST", "OPTIONS"]),
    (
        "/v1/proposedprograms/:proposedprograms_id",
        &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"],
    ),
    ("/v1/gadscores", &["GET", "HEAD", "POST", "OPTIONS"]),
    ("/v1/gadscores/:gadscores_id", &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"]),
    ("/v1/statuses", &["GET", "HEAD", "POST", "OPTIONS"]),
    ("/v1/statuses/:statuses_id", &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"]),
    ("/v1/files", &["GET", "HEAD", "POST", "OPTIONS"]),
    ("/v1/files/:files_id", &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"]),
    ("/lib", &["GET", "HEAD", "POST", "OPTIONS"]),
    ("/lib/:lib_id", &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"]),
    ("/v1/proposals", &["GET", "HEAD", "POST", "OPTIONS"]),
    ("/v1/proposals/:proposals_id", &["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"]),
    ("/v1/proposals/:proposals_id/lib", &["GET", "HEAD", "POST", "OPTIONS"]),
    (
        "/v1/proposals/:proposals_id/lib/:lib_id",
        &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"],
    ),
    ("/status", &["GET", "HEAD", "POST", "OPTIONS"]),
    ("/status/:status_id", &["GET", "HEAD", "PATCH", "PUT", "DELETE", "OPTIONS"]),
    ("/v1/cashprogram", &["GET", "HEAD", "POST", "PUT", "OPTIONS"]),
    (
        "/v1/cashprogram/:cashprogram_id",
        &["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"],
    ),
];

/// Values of `Accept` that no path can satisfy.
pub(super) const UNACCEPTABLE: &[&str] = &[
    "text/html",
    "application/vnd.nothing.v1+json",
    "application/vnd.proposals.v2+json",
    "application/json;q=0",
    "application/problem+json",
];

/// Values of `Content-Type` that no path takes.
pub(super) const UNSUPPORTED: &[&str] = &[
    "text/plain",
    "application/hal+json",
    "application/vnd.nothing.v1+json",
    "application/merge-patch+json",
    "application/json; charset=iso-8859-1",
];

/// Identifiers that no item can have.
pub(super) const ODD_IDS: &[&str] = &[
    UNKNOWN_ID,
    "no-such-id",
    "0",
    "-1",
    "%2F",
    "%2f..%2f",
    "%00",
    "%ff",
    "%20",
    "%3F",
    "%E2%82%AC",
    "'%20OR%201=1%20--",
    "1;DROP%20TABLE%20items",
];
