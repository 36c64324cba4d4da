//! An HTTP client that sends what it is told and nothing else: no header of its own but `Host`, any
//! method, any bytes.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use futures_util::stream;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Answer;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Bytes of one chunk of a chunked body.
const CHUNK: usize = 64 * 1024;

enum Body {
    None,
    Sized(Bytes),
    Chunked(Bytes),
}

/// A request that is being put together.
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    address: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

impl Request {
    /// A request for `target` to the server at `address`.
    pub fn new(address: SocketAddr, method: &str, target: &str) -> Self {
        Self {
            address,
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Body::None,
        }
    }

    /// Adds a header line; a name may be given several times.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds an `Accept` line.
    pub fn accept(self, value: impl AsRef<[u8]>) -> Self {
        self.header("accept", value)
    }

    /// Adds a body and its `Content-Type`.
    pub fn body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", content_type).untyped_body(body)
    }

    /// Adds a body of `application/json`.
    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.body("application/json", body)
    }

    /// Adds a body without a `Content-Type`.
    pub fn untyped_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Sized(Bytes::from(body.into()));
        self
    }

    /// Sends the body in chunks, its length not announced.
    pub fn chunked(mut self) -> Self {
        if let Body::Sized(bytes) = self.body {
            self.body = Body::Chunked(bytes);
        }
        self
    }

    /// The request as a sentence, for messages of failing tests.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut sentence = format!("{} {}", self.method, self.target);
        for (name, value) in &self.headers {
            write!(sentence, " {name}: {}", value.escape_ascii()).expect("a string takes all");
        }
        if let Body::Sized(bytes) | Body::Chunked(bytes) = &self.body {
            write!(
                sentence,
                " body({} bytes): {}",
                bytes.len(),
                String::from_utf8_lossy(&bytes[..bytes.len().min(300)])
            )
            .expect("a string takes all");
        }
        sentence
    }

    /// Sends the request, and checks of the answer what must hold for every answer.
    #[track_caller]
    pub fn send(self) -> Answer {
        let answer = self.send_unchecked();
        assert!(answer.status < 500, "no failure of the server: {answer}");
        answer.must_keep_the_common_rules();
        answer
    }

    /// Sends a request that cannot be answered now, and checks that the answer says so as it
    /// should.
    #[track_caller]
    pub fn send_in_vain(self) -> Answer {
        let answer = self.send_unchecked().expect(503);
        answer.must_keep_the_common_rules();
        assert!(
            answer.needed_header("retry-after").parse::<u32>().is_ok(),
            "seconds in Retry-After of {answer}"
        );
        answer
    }

    /// Sends the request.
    #[track_caller]
    pub fn send_unchecked(self) -> Answer {
        let sentence = self.sentence();
        let exchange = async { tokio::time::timeout(PATIENCE, self.exchange()).await };
        let answer = runtime()
            .block_on(exchange)
            .unwrap_or_else(|_| panic!("no answer within {PATIENCE:?} to {sentence}"));
        let answer = answer.unwrap_or_else(|error| panic!("no answer to {sentence}: {error:?}"));
        answer.must_be_documented();
        answer
    }

    /// Sends the request to a server that may go away meanwhile; a whole answer, if one came.
    #[must_use]
    pub fn try_send(self) -> Option<Answer> {
        let exchange = async { tokio::time::timeout(PATIENCE, self.exchange()).await };
        runtime().block_on(exchange).ok()?.ok()
    }

    async fn exchange(self) -> Result<Answer, Box<dyn std::error::Error>> {
        let (sentence, method, target) =
            (self.sentence(), self.method.clone(), self.target.clone());
        let origin = format!("http://{}", self.address);
        let stream = TcpStream::connect(self.address).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let (head, body) = sender.send_request(self.into_hyper()?).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Answer {
            sentence,
            origin,
            method,
            target,
            status: head.status.as_u16(),
            headers: head.headers,
            body,
        })
    }

    fn into_hyper(self) -> Result<hyper::Request<BoxBody<Bytes, Infallible>>, hyper::http::Error> {
        let mut request =
            hyper::Request::builder().method(self.method.as_bytes()).uri(&self.target);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", self.address.to_string());
        }
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(match self.body {
            Body::None => Empty::new().boxed(),
            Body::Sized(bytes) => Full::new(bytes).boxed(),
            Body::Chunked(bytes) => {
                let chunks: Vec<_> = bytes
                    .chunks(CHUNK)
                    .map(|chunk| Ok(Frame::data(bytes.slice_ref(chunk))))
                    .collect();
                StreamBody::new(stream::iter(chunks)).boxed()
            }
        })
    }
}

/// Sends bytes as they are, and reads what comes back until the server closes the connection.
pub fn send_bytes(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.expect("the service takes connections");
        let mut answer = Vec::new();
        // A server may close on bytes it does not understand before it has read all of them.
        let written = stream.write_all(bytes).await;
        let read = stream.read_to_end(&mut answer).await;
        drop((written, read));
        answer
    };
    let bounded = async { tokio::time::timeout(PATIENCE, exchange).await };
    runtime()
        .block_on(bounded)
        .unwrap_or_else(|_| panic!("the connection stays open after {}", bytes.escape_ascii()))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts")
}
