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

use anyhow::bail;
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

use postgres::Postgres;
use proposal::{Checked, Proposal, Refusal, new_id, now};
use sqlite::Sqlite;
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
    page: Option<i64>,
    page_size: Option<i64>,
}

type Answer = Result<Response, Refusal>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let (url, is_logged) = (arguments.database_url.as_str(), arguments.log);
    match url.split_once(':') {
        Some(("sqlite", _)) => serve(Sqlite::open(url, is_logged)?, arguments).await,
        Some(("postgres" | "postgresql", _)) => {
            serve(Postgres::open(url, is_logged).await?, arguments).await
        }
        _ => bail!("neither an SQLite nor a PostgreSQL URL: {url}"),
    }
}

/// The store, and whether it has a log.
type Shared<S> = State<Arc<(S, bool)>>;

async fn serve(store: impl Store, arguments: Arguments) -> anyhow::Result<()> {
    let store = Arc::new((store, arguments.log));
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

async fn create<S: Store>(State(store): Shared<S>, members: String) -> Answer {
    let checked = Checked::of(members, store.1)?;
    let members = &checked.members;
    let (id, now) = (new_id(), now());
    let mut body = String::with_capacity(members.len() + 256);
    Proposal { id, version: 1, created_at: now, updated_at: now, members }.push_json(&mut body);
    store.0.create(id, now, checked).await?;
    let location = (header::LOCATION, format!("/v1/proposals/{id}"));
    Ok((StatusCode::CREATED, [location], json(body)).into_response())
}

async fn read<S: Store>(State(store): Shared<S>, Path(id): Path<Uuid>) -> Answer {
    store.0.read(id).await?.map(json).ok_or_else(missing)
}

async fn replace<S: Store>(
    State(store): Shared<S>,
    Path(id): Path<Uuid>,
    members: String,
) -> Answer {
    let checked = Checked::of(members, store.1)?;
    store.0.replace(id, now(), checked).await?.map(json).ok_or_else(missing)
}

async fn read_page<S: Store>(State(store): Shared<S>, Query(query): Query<PageQuery>) -> Answer {
    let (page, page_size) = (query.page.unwrap_or(1), query.page_size.unwrap_or(25));
    if page < 1 || !(1..=LARGEST_PAGE).contains(&page_size) {
        let reason = format!("page is 1 or more, page_size 1 to {LARGEST_PAGE}");
        return Err(Refusal(StatusCode::BAD_REQUEST, reason));
    }
    let mut found = store.0.page(page_size, (page - 1).saturating_mul(page_size)).await?;
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

fn missing() -> Refusal {
    Refusal(StatusCode::NOT_FOUND, "there is no such proposal".to_owned())
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        eprintln!("minimal-axum: {error:#}");
        Self(StatusCode::INTERNAL_SERVER_ERROR, "the store failed".to_owned())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, json(serde_json::json!({ "error": self.1 }).to_string())).into_response()
    }
}
