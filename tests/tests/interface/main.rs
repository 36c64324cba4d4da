//! The HTTP interface, tested through the real binary. One file per subject, or per URL where a URL has
//! rules that apply to it alone.

mod authors;
mod cash_program;
mod change_stream;
mod changes;
mod collections;
mod conditional_requests;
mod content_downloads;
mod content_space;
mod contents;
mod count_by;
mod documentation;
mod dossier;
mod dry_run;
mod embedding;
mod errors;
mod explorer;
mod fields;
mod filters;
mod histories;
mod history;
mod hypermedia;
mod idempotency;
mod labels;
mod life_cycle;
mod link_headers;
mod lost_database;
mod matrix;
mod members;
mod negotiation;
mod nested_library;
mod paging;
mod patch;
mod polling;
mod preferences;
mod proposals;
mod queries;
mod query_parameters;
mod random_queries;
mod reference;
mod restoration;
mod retention;
mod rule_files;
mod rule_trials;
mod rules;
mod search;
mod server;
mod sorting;
mod totals;
mod transfer_limits;
mod transfers;

/// The smallest body that `/v1/proposals` takes.
const PROPOSAL: &str = r#"{"proposal_type":"R&D Project","project_title":"Rapid test kit"}"#;

/// A well-formed id that no item has.
const UNKNOWN_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";
