//! The service that a good engineer would write by hand for the same store: axum without hypermedia,
//! over plain sqlx on PostgreSQL and over rusqlite on SQLite.
//!
//! It has no feature that the service adds, and every optimization that is known: proposals are
//! stored and returned as the text that was received, ids are in creation order, SQLite's writes share commits,
//! and memory comes from the service's allocator. With `--log` it has the service's obligations.

mod logged;
mod postgres;
mod proposal;
mod sqlite;
mod store;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::serve::ListenerExt;
use clap::Parser;
use serde::Deserialize;
use tokio::net::TcpListener;
use uuid::Uuid;

use proposal::{Checked, Proposal, Refusal, new_id, now};
use store::Store;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const LARGEST_PAGE: i64 = 250;

/// A hand-written service for proposals.
#[derive(Parser)]
struct Arguments {
    /// Where to listen, as ADDRESS:PORT.
    #[arg(long)]
    listen: SocketAddr,
    /// `sqlite://PATH?mode=rwc` or `postgres://…`.
    #[arg(long)]
    database_url: String,
    /// Keep a log of all versions, totals and indexed columns.
    #[arg(long)]
    log: bool,
}

#[derive(Deserialize)]
struct PageQuery {
    #[serde(default = "first_page")]
    page: i64,
    #[serde(default = "usual_page_size")]
    page_size: i64,
}

enum ApiError {
    Missing,
    Refused(Refusal),
    BadPage,
    Store(anyhow::Error),
}

type Answer = Result<Response, ApiError>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let store = Arc::new(Store::open(&arguments.database_url, arguments.log).await?);
    let routes = Router::new()
        .route("/readyz", get(async || "ready"))
        .route("/v1/proposals", get(read_page).post(create))
        .route("/v1/proposals/{id}", get(read).put(replace))
        .with_state(store);
    let listener = TcpListener::bind(arguments.listen).await?.tap_io(|connection| {
        // Only latency hangs on it.
        let _ = connection.set_nodelay(true);
    });
    Ok(axum::serve(listener, routes).await?)
}

async fn create(State(store): State<Arc<Store>>, members: String) -> Answer {
    let checked = Checked::of(members, store.is_logged()).map_err(ApiError::Refused)?;
    let members = &checked.members;
    let (id, now) = (new_id(), now());
    let mut body = String::with_capacity(members.len() + 256);
    Proposal { id, version: 1, created_at: now, updated_at: now, members }.push_json(&mut body);
    store.create(id, now, checked).await?;
    let location = (header::LOCATION, format!("/v1/proposals/{id}"));
    Ok((StatusCode::CREATED, [location], json(body)).into_response())
}

async fn read(State(store): State<Arc<Store>>, Path(id): Path<Uuid>) -> Answer {
    store.read(id).await?.map(json).ok_or(ApiError::Missing)
}

async fn replace(State(store): State<Arc<Store>>, Path(id): Path<Uuid>, members: String) -> Answer {
    let checked = Checked::of(members, store.is_logged()).map_err(ApiError::Refused)?;
    store.replace(id, now(), checked).await?.map(json).ok_or(ApiError::Missing)
}

async fn read_page(State(store): State<Arc<Store>>, Query(query): Query<PageQuery>) -> Answer {
    let PageQuery { page, page_size } = query;
    if page < 1 || !(1..=LARGEST_PAGE).contains(&page_size) {
        return Err(ApiError::BadPage);
    }
    let mut found = store.page(page_size, (page - 1).saturating_mul(page_size)).await?;
    let page_count = (found.total + page_size - 1) / page_size;
    let body = &mut found.body;
    // Writing to a string cannot fail.
    let _ = write!(
        body,
        r#"],"page":{page},"page_count":{page_count},"total_items":{}}}"#,
        found.total
    );
    Ok(json(found.body))
}

fn json(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], Body::from(body)).into_response()
}

const fn first_page() -> i64 {
    1
}

const fn usual_page_size() -> i64 {
    25
}

impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> Self {
        Self::Store(error)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, reason) = match self {
            Self::Missing => (StatusCode::NOT_FOUND, "there is no such proposal".to_owned()),
            Self::Refused(Refusal::NotJson(reason)) => (StatusCode::BAD_REQUEST, reason),
            Self::Refused(Refusal::Incomplete(reason)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, reason)
            }
            Self::BadPage => (
                StatusCode::BAD_REQUEST,
                format!("page is 1 or more, page_size 1 to {LARGEST_PAGE}"),
            ),
            Self::Store(error) => {
                eprintln!("minimal-axum: {error:#}");
                (StatusCode::INTERNAL_SERVER_ERROR, "the store failed".to_owned())
            }
        };
        (status, json(serde_json::json!({ "error": reason }).to_string())).into_response()
    }
}
