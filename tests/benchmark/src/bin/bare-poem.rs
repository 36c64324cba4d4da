//! The limit of poem itself on this machine: one route, constant bytes, no store.
//!
//! The benchmark measures the service against it. `?bytes=N` in the request says how long the
//! answer is; a request's body is read and thrown away, as a real service must at least read it.

use std::sync::LazyLock;

use bytes::Bytes;
use clap::Parser;
use poem::http::Uri;
use poem::listener::TcpListener;
use poem::{Body, IntoResponse, Response, Route, Server, get, handler};

const LONGEST: usize = 8 * 1024 * 1024;

static CONTENT: LazyLock<Bytes> = LazyLock::new(|| vec![b'x'; LONGEST].into());

/// A poem server that answers every request with constant bytes.
#[derive(Parser)]
struct Arguments {
    /// Where to listen, as ADDRESS:PORT.
    #[arg(long)]
    listen: String,
}

#[handler]
fn read_only(uri: &Uri) -> Response {
    constant(uri)
}

#[handler]
async fn with_body(uri: &Uri, body: Body) -> poem::Result<Response> {
    body.into_bytes().await?;
    Ok(constant(uri))
}

fn constant(uri: &Uri) -> Response {
    CONTENT.slice(..wanted_length(uri)).with_content_type("application/hal+json").into_response()
}

fn wanted_length(uri: &Uri) -> usize {
    let query = uri.query().unwrap_or_default();
    let length = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("bytes="))
        .and_then(|bytes| bytes.parse().ok());
    length.unwrap_or(0).min(LONGEST)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let arguments = Arguments::parse();
    let route = Route::new().at("/*path", get(read_only).post(with_body).put(with_body));
    Server::new(TcpListener::bind(arguments.listen)).run(route).await
}
