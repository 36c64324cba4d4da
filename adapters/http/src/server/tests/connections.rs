//! The limit of connections: connections beyond it, the reserve for health requests, and event
//! streams, which keep their connections.

use tokio::time::{sleep, timeout};

use super::{GET, LONG, SHORT, Server, answer, generous, rest};
use crate::server::{Drained, RESERVED_CONNECTIONS, ServerLimits};

#[tokio::test]
async fn connections_beyond_the_limit_wait() {
    let server = Server::start(ServerLimits { connections: 1, ..generous() }).await;
    let first = server.connect().await;
    sleep(SHORT).await;
    let mut second = server.send(GET).await;
    assert!(timeout(SHORT, second.readable()).await.is_err(), "served beyond the limit");
    drop(first);
    answer(&mut second, "hello").await;
}

#[tokio::test]
async fn health_is_answered_when_every_connection_is_taken() {
    let server = Server::start(ServerLimits { connections: 1, ..generous() }).await;
    let mut silent = vec![server.connect().await];
    for _ in 0..3 * RESERVED_CONNECTIONS {
        silent.push(server.send(b"G").await);
    }
    for path in ["/healthz", "/readyz"] {
        let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
        let text = rest(&mut server.send(request.as_bytes()).await).await;
        assert!(text.starts_with("HTTP/1.1 200") && text.ends_with("hello"), "{text}");
        assert!(text.contains("connection: close"), "{text}");
    }
    let text = rest(&mut silent[1]).await;
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("retry-after: 2"), "{text}");
}

#[tokio::test]
async fn a_reserved_connection_waits_for_its_turn_and_no_longer_than_the_server_lives() {
    let server = Server::start(ServerLimits { connections: 1, ..generous() }).await;
    let first = server.connect().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(server.send(GET).await);
    }
    sleep(SHORT).await;
    drop(first);
    answer(&mut waiting[0], "hello").await;
    let (drained, took) = server.stop().await;
    assert_eq!(drained, Drained::Finished);
    assert!(took < SHORT * 4, "took {took:?}");
}

#[tokio::test]
async fn connections_of_the_reserve_count_as_open() {
    let server = Server::start(ServerLimits { connections: 1, ..generous() }).await;
    let is_open = async |expected: i64| {
        let counted = async {
            while server.metrics.connections.get() != expected {
                sleep(SHORT / 20).await;
            }
        };
        timeout(LONG, counted).await.unwrap();
    };
    let mut first = server.send(GET).await;
    answer(&mut first, "hello").await;
    is_open(1).await;
    let mut second = server.send(GET).await;
    is_open(2).await;
    drop(first);
    answer(&mut second, "hello").await;
    is_open(1).await;
    drop(second);
    is_open(0).await;
}

#[tokio::test]
async fn an_event_stream_is_sent_in_chunks_and_ends_with_the_server() {
    let server = Server::start(generous()).await;
    let mut client = server.send(b"GET /events HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let text = answer(&mut client, "data: a\n\n\r\n").await;
    for header in ["content-type: text/event-stream", "transfer-encoding: chunked", "date: "] {
        assert!(text.contains(header), "{header} in {text}");
    }
    assert_eq!(server.stop().await.0, Drained::Finished);
    assert_eq!(rest(&mut client).await, "0\r\n\r\n");
}

#[tokio::test]
async fn an_event_stream_has_no_chunks_where_the_client_does_not_know_them() {
    let server = Server::start(generous()).await;
    let mut client = server.send(b"GET /events HTTP/1.0\r\nhost: a\r\n\r\n").await;
    let text = answer(&mut client, "\r\n\r\ndata: a\n\n").await;
    assert!(!text.contains("chunked"), "{text}");
    server.stop().await;
    assert_eq!(rest(&mut client).await, "");
}

#[tokio::test]
async fn the_headers_of_an_event_stream_can_be_asked_for_alone() {
    let server = Server::start(generous()).await;
    let mut client =
        server.send(b"HEAD /events HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    assert!(rest(&mut client).await.ends_with("\r\n\r\n"));
}

#[tokio::test]
async fn an_event_stream_whose_client_is_gone_leaves_its_connection_to_others() {
    let server = Server::start(ServerLimits { connections: 1, ..generous() }).await;
    let mut stream = server.send(b"GET /events HTTP/1.1\r\nhost: a\r\n\r\n").await;
    answer(&mut stream, "data: a\n\n\r\n").await;
    let mut next = server.send(GET).await;
    assert!(timeout(SHORT, next.readable()).await.is_err(), "served beyond the limit");
    drop(stream);
    answer(&mut next, "hello").await;
}
