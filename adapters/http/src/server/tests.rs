//! Every limit and every ending, over real sockets.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use poem::http::StatusCode;
use poem::{Body, Endpoint, Request, Response, endpoint};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::{Burst, Drained, LeastRate, MAX_HEAD, ServerLimits, serve};
use crate::metrics::HttpMetrics;

mod connections;
mod least_rate;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);
const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
const BIG: usize = 32 << 20;

/// Limits that a test does not reach unless it shortens one.
fn generous() -> ServerLimits {
    ServerLimits {
        connections: 100,
        first_byte_timeout: LONG,
        header_timeout: LONG,
        idle_timeout: LONG,
        body_timeout: LONG,
        write_timeout: LONG,
        least_rate: 1,
        rate_window: LONG,
        linger_timeout: LONG,
        drain_timeout: LONG,
    }
}

/// `/` answers at once, `/slow` after [`SHORT`], `/stuck` never, `/big` at length, `/echo` with the
/// body or its error, `/refuse` without reading the body, `/events` with an event stream that
/// does not end.
fn endpoint() -> impl Endpoint<Output = Response> + 'static {
    endpoint::make(|mut request: Request| async move {
        match request.uri().path() {
            "/slow" => sleep(SHORT).await,
            "/stuck" => pending().await,
            "/events" => {
                let event = stream::iter([Ok::<_, io::Error>("data: a\n\n")]);
                return Ok(Response::builder()
                    .content_type("text/event-stream")
                    .body(Body::from_bytes_stream(event.chain(stream::pending()))));
            }
            "/big" => return Ok(Response::builder().body(vec![b'.'; BIG])),
            "/export" => {
                return Ok(Response::builder().extension(LeastRate(None)).body(vec![b'.'; BIG]));
            }
            "/refuse" => {
                return Ok(Response::builder().status(StatusCode::PAYLOAD_TOO_LARGE).body("no"));
            }
            "/echo" => {
                return Ok(match request.take_body().into_bytes().await {
                    Ok(bytes) => Response::builder().body(bytes),
                    Err(_) => {
                        Response::builder().status(StatusCode::REQUEST_TIMEOUT).body("unread")
                    }
                });
            }
            _ => {}
        }
        Ok::<_, poem::Error>(Response::builder().body("hello"))
    })
}

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<Drained>,
    metrics: Arc<HttpMetrics>,
}

impl Server {
    async fn start(limits: ServerLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let metrics = Arc::<HttpMetrics>::default();
        let measured = Arc::clone(&metrics);
        let ended = tokio::spawn(async move {
            let stopped = async { stopped.await.unwrap() };
            serve(listener, endpoint(), limits, &measured, stopped).await
        });
        Self { address, stop, ended, metrics }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn send(&self, request: &[u8]) -> TcpStream {
        let mut client = self.connect().await;
        client.write_all(request).await.unwrap();
        client
    }

    /// Stops the server; its ending and how long it took.
    async fn stop(self) -> (Drained, Duration) {
        let start = Instant::now();
        self.stop.send(()).unwrap();
        let drained = timeout(LONG, self.ended).await.unwrap().unwrap();
        (drained, start.elapsed())
    }
}

async fn rest(client: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    timeout(Duration::from_secs(10), client.read_to_end(&mut bytes)).await.unwrap().unwrap();
    String::from_utf8(bytes).unwrap()
}

async fn answer(client: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    while !text.ends_with(end) {
        let mut bytes = [0; 4096];
        let n = timeout(Duration::from_secs(10), client.read(&mut bytes)).await.unwrap().unwrap();
        assert_ne!(n, 0, "closed after {text:?}");
        text += std::str::from_utf8(&bytes[..n]).unwrap();
    }
    text
}

/// Reads a response with pauses, and returns the number of bytes, and whether it ended without an error.
async fn read_slowly(server: &Server, path: &str) -> (usize, bool) {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    let mut client = server.send(request.as_bytes()).await;
    let (mut received, mut buffer) = (0, vec![0; 1 << 20]);
    loop {
        sleep(SHORT / 8).await;
        match client.read(&mut buffer).await {
            Ok(0) => return (received, true),
            Err(_) => return (received, false),
            Ok(n) => received += n,
        }
    }
}

/// Asserts that the server closes in about [`SHORT`], and returns what came before.
async fn closed_shortly(client: &mut TcpStream) -> String {
    let start = Instant::now();
    let text = rest(client).await;
    let took = start.elapsed();
    assert!(took > SHORT / 2 && took < SHORT * 10, "closed after {took:?} with {text:?}");
    text
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed() {
    let server = Server::start(ServerLimits { first_byte_timeout: SHORT, ..generous() }).await;
    assert_eq!(closed_shortly(&mut server.connect().await).await, "");
}

#[tokio::test]
async fn a_head_that_trickles_gets_no_more_time() {
    let server = Server::start(ServerLimits { header_timeout: SHORT * 2, ..generous() }).await;
    let (mut reader, mut writer) = server.connect().await.into_split();
    let trickle = tokio::spawn(async move {
        for byte in GET {
            writer.write_all(&[*byte]).await.unwrap();
            sleep(SHORT / 2).await;
        }
    });
    let mut text = String::new();
    timeout(SHORT * 8, reader.read_to_string(&mut text)).await.unwrap().unwrap();
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
    trickle.abort();
}

#[tokio::test]
async fn a_second_head_sent_by_halves_has_the_time_of_a_head() {
    let server = Server::start(ServerLimits { header_timeout: SHORT, ..generous() }).await;
    let mut client =
        server.send(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc").await;
    answer(&mut client, "abc").await;
    client.write_all(b"GET /").await.unwrap();
    let text = closed_shortly(&mut client).await;
    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_its_time_and_closed() {
    let server =
        Server::start(ServerLimits { idle_timeout: SHORT, header_timeout: LONG, ..generous() })
            .await;
    let mut client = server.send(GET).await;
    for _ in 0..4 {
        answer(&mut client, "hello").await;
        sleep(SHORT / 2).await;
        client.write_all(GET).await.unwrap();
    }
    answer(&mut client, "hello").await;
    assert_eq!(closed_shortly(&mut client).await, "");
}

#[tokio::test]
async fn a_body_that_stalls_fails_the_read() {
    let server = Server::start(ServerLimits { body_timeout: SHORT, ..generous() }).await;
    let mut client =
        server.send(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc").await;
    let text = closed_shortly(&mut client).await;
    assert!(text.starts_with("HTTP/1.1 408") && text.ends_with("unread"), "{text}");
}

#[tokio::test]
async fn a_body_that_progresses_has_all_the_time_it_needs() {
    let server = Server::start(ServerLimits { body_timeout: SHORT, ..generous() }).await;
    let mut client =
        server.send(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\n").await;
    for byte in b"abcdef" {
        sleep(SHORT / 2).await;
        client.write_all(&[*byte]).await.unwrap();
    }
    answer(&mut client, "abcdef").await;
}

#[tokio::test]
async fn an_unread_response_is_given_up() {
    let server = Server::start(ServerLimits { write_timeout: SHORT, ..generous() }).await;
    let mut client = server.send(b"GET /big HTTP/1.1\r\nhost: a\r\n\r\n").await;
    sleep(SHORT * 3).await;
    let mut received = Vec::new();
    let _ = timeout(LONG, client.read_to_end(&mut received)).await.unwrap();
    assert!(received.len() < BIG, "all was sent");
}

#[tokio::test]
async fn a_response_read_slowly_is_sent_whole() {
    let server = Server::start(ServerLimits { write_timeout: SHORT, ..generous() }).await;
    let (received, is_whole) = read_slowly(&server, "/big").await;
    assert!(received > BIG && is_whole, "{received}");
}

#[tokio::test]
async fn work_stops_when_the_client_disconnects() {
    let server = Server::start(generous()).await;
    let mut client = server.send(b"GET /stuck HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert!(timeout(SHORT, client.read(&mut [0; 10])).await.is_err(), "it waits");
    client.shutdown().await.unwrap();
    assert_eq!(rest(&mut client).await, "", "the request is given up");
    assert_eq!(server.stop().await.0, Drained::Finished);
}

#[tokio::test]
async fn a_client_may_close_its_half_after_the_request() {
    let server = Server::start(generous()).await;
    let mut client = server.send(b"GET /slow HTTP/1.1\r\nhost: a\r\n\r\n").await;
    client.shutdown().await.unwrap();
    assert!(rest(&mut client).await.ends_with("hello"));
}

#[tokio::test]
async fn an_offer_to_upgrade_is_ignored() {
    let server = Server::start(generous()).await;
    let offer = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n\r\n";
    let mut client = server.send(offer).await;
    assert!(answer(&mut client, "hello").await.starts_with("HTTP/1.1 200"));
    client.write_all(GET).await.unwrap();
    answer(&mut client, "hello").await;
}

#[tokio::test]
async fn an_early_answer_reaches_a_client_that_is_still_sending() {
    let server = Server::start(generous()).await;
    let (mut reader, mut writer) = server
        .send(b"POST /refuse HTTP/1.1\r\nhost: a\r\ncontent-length: 50000000\r\n\r\n")
        .await
        .into_split();
    let sending = tokio::spawn(async move { writer.write_all(&vec![b'.'; 50_000_000]).await });
    sleep(SHORT).await;
    let mut text = String::new();
    timeout(LONG, reader.read_to_string(&mut text)).await.unwrap().unwrap();
    assert!(text.starts_with("HTTP/1.1 413") && text.ends_with("no"), "{text}");
    sending.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_rest_after_an_early_answer_is_read_for_a_limited_time() {
    let server = Server::start(ServerLimits { linger_timeout: SHORT, ..generous() }).await;
    let mut client =
        server.send(b"POST /refuse HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n.").await;
    rest(&mut client).await;
    sleep(SHORT * 2).await;
    let _ = client.write_all(b"..").await;
    sleep(SHORT / 2).await;
    assert!(client.write_all(b"..").await.is_err(), "still read");
}

#[tokio::test]
async fn what_cannot_be_read_is_answered_with_a_problem_and_closed() {
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(101));
    let large_header = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "b".repeat(5_000_000));
    let long_uri = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(5_000_000));
    let cases: [(&str, &[u8], u16); 14] = [
        ("no HTTP", b"hello\r\n\r\n", 400),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        ("another version", b"GET / HTTP/3.7\r\n\r\n", 400),
        ("HTTP/2 from the start", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        ("a URI with a space", b"GET /a b HTTP/1.1\r\n\r\n", 400),
        ("a URI with a brace", b"GET /a?b=<c> HTTP/1.1\r\n\r\n", 400),
        ("a header without a name", b"GET / HTTP/1.1\r\n: a\r\n\r\n", 400),
        ("a header with NUL", b"GET / HTTP/1.1\r\na: \0\r\n\r\n", 400),
        ("a length that is no number", b"POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\na", 400),
        ("an unknown transfer coding", b"POST / HTTP/1.1\r\ntransfer-encoding: zip\r\n\r\na", 501),
        (
            "two lines of transfer codings",
            b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            501,
        ),
        ("too many headers", many_headers.as_bytes(), 431),
        ("a header too large", large_header.as_bytes(), 431),
        ("a URI too long", long_uri.as_bytes(), 414),
    ];
    let server = Server::start(generous()).await;
    for (what, request, status) in cases {
        let (mut reader, mut writer) = server.connect().await.into_split();
        let request = request.to_vec();
        let sending =
            tokio::spawn(async move { writer.write_all(&request).await.map(|()| writer) });
        let mut text = String::new();
        timeout(LONG, reader.read_to_string(&mut text))
            .await
            .unwrap()
            .unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {text}");
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        for header in ["allow:", "content-type: application/json", "connection: close", "date: "] {
            assert!(head.contains(header), "{what}: {head}");
        }
        assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{what}: {head}");
        let problem: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(problem["status"], status, "{what}");
        sending.await.unwrap().unwrap_or_else(|error| panic!("{what}: {error}"));
    }
}

#[tokio::test]
async fn a_head_of_64_kib_is_read_and_one_byte_more_is_431() {
    let server = Server::start(generous()).await;
    let head = |bytes: usize| {
        let (start, end) = ("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\na: ", "\r\n\r\n");
        format!("{start}{}{end}", "b".repeat(bytes - start.len() - end.len()))
    };
    for (bytes, status) in [(MAX_HEAD, 200), (MAX_HEAD + 1, 431), (MAX_HEAD * 3 / 2, 431)] {
        let text = rest(&mut server.send(head(bytes).as_bytes()).await).await;
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{bytes}: {text}");
    }
}

#[tokio::test]
async fn an_unknown_transfer_coding_of_a_pipelined_request_is_501() {
    let server = Server::start(generous()).await;
    let coded =
        b"POST /echo HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    let mut client = server.send(&[GET, coded].concat()).await;
    client.shutdown().await.unwrap();
    let text = rest(&mut client).await;
    assert!(text.starts_with("HTTP/1.1 200") && text.contains("HTTP/1.1 501"), "{text}");
}

#[tokio::test]
async fn a_length_with_chunks_is_ignored_and_ends_the_connection() {
    let server = Server::start(generous()).await;
    let smuggled = b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    let mut client = server.send(smuggled).await;
    client.shutdown().await.unwrap();
    let text = rest(&mut client).await;
    assert!(text.ends_with("abc") && text.contains("connection: close"), "{text}");
}

#[tokio::test]
async fn a_malformed_request_after_a_good_one_is_answered_too() {
    let server = Server::start(generous()).await;
    let mut client = server.send(GET).await;
    answer(&mut client, "hello").await;
    client.write_all(b"nonsense\r\n\r\n").await.unwrap();
    client.shutdown().await.unwrap();
    let text = rest(&mut client).await;
    assert!(text.starts_with("HTTP/1.1 400") && text.contains("malformed-request"), "{text}");
}

#[test]
fn a_burst_begins_once() {
    let mut burst = Burst::default();
    assert!(burst.begins() && !burst.begins() && !burst.begins());
}

#[tokio::test]
async fn draining_closes_what_is_idle_and_accepts_no_more() {
    let server = Server::start(generous()).await;
    let address = server.address;
    let (mut silent, mut idle) = (server.connect().await, server.send(GET).await);
    answer(&mut idle, "hello").await;
    let mut posted =
        server.send(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc").await;
    answer(&mut posted, "abc").await;
    let (drained, took) = server.stop().await;
    assert_eq!(drained, Drained::Finished);
    assert!(took < SHORT, "took {took:?}");
    for client in [&mut silent, &mut idle, &mut posted] {
        assert_eq!(rest(client).await, "");
    }
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn draining_cuts_off_what_does_not_finish() {
    let server = Server::start(ServerLimits { drain_timeout: SHORT, ..generous() }).await;
    let mut stuck = server.send(b"GET /stuck HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut sending =
        server.send(b"POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\nabc").await;
    sleep(SHORT / 4).await;
    let (drained, took) = server.stop().await;
    assert_eq!(drained, Drained::CutOff(2));
    assert!(took < SHORT * 4, "took {took:?}");
    for client in [&mut stuck, &mut sending] {
        let _ = timeout(SHORT, client.read(&mut [0; 10])).await.expect("closed");
    }
}
