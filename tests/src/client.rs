//! An HTTP client that adds no header but `Host`, and sends any method and any bytes.

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

/// The longest time that an answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Bytes of one chunk of a chunked body.
const CHUNK: usize = 64 * 1024;

enum Body {
    None,
    Sized(Bytes),
    Chunked(Bytes),
}

/// A builder of a request.
#[must_use = "a request does nothing until it is sent"]
pub struct Request {
    address: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Body,
}

impl Request {
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

    pub fn accept(self, value: impl AsRef<[u8]>) -> Self {
        self.header("accept", value)
    }

    pub fn body(self, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        self.header("content-type", content_type).untyped_body(body)
    }

    pub fn json(self, body: impl Into<Vec<u8>>) -> Self {
        self.body("application/json", body)
    }

    /// Adds a body without a `Content-Type`.
    pub fn untyped_body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Body::Sized(Bytes::from(body.into()));
        self
    }

    /// Sends the body in chunks, without its length.
    pub fn chunked(mut self) -> Self {
        if let Body::Sized(bytes) = self.body {
            self.body = Body::Chunked(bytes);
        }
        self
    }

    /// The request in one line, for messages of failing tests.
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

    /// Sends the request, and checks the rules for every answer.
    #[track_caller]
    pub fn send(self) -> Answer {
        let answer = self.send_unchecked();
        assert!(answer.status < 500, "no failure of the server: {answer}");
        answer.must_keep_the_common_rules();
        answer
    }

    /// Sends the request, and asserts the status as well.
    #[track_caller]
    pub fn expect(self, status: u16) -> Answer {
        self.send().expect(status)
    }

    /// Sends a request that the service cannot answer now: 503 with `Retry-After`.
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

    #[track_caller]
    pub fn send_unchecked(self) -> Answer {
        let sentence = self.sentence();
        let answer = bounded(PATIENCE, self.exchange())
            .unwrap_or_else(|| panic!("no answer within {PATIENCE:?} to {sentence}"));
        let answer = answer.unwrap_or_else(|error| panic!("no answer to {sentence}: {error:?}"));
        answer.must_be_documented();
        answer
    }

    /// Sends the request to a server that may stop meanwhile; the complete answer, if it came.
    pub fn try_send(self) -> Option<Answer> {
        self.try_send_within(PATIENCE)
    }

    pub fn try_send_within(self, patience: Duration) -> Option<Answer> {
        bounded(patience, self.exchange())?.ok()
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
        let (status, headers) = (head.status.as_u16(), head.headers);
        Ok(Answer { sentence, origin, method, target, status, headers, body })
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

/// Sends bytes unchanged, and reads the answer until the server closes the connection.
pub fn send_bytes(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let exchange = async {
        let mut stream = TcpStream::connect(address).await.expect("the service takes connections");
        let mut answer = Vec::new();
        // A server may close the connection before it has read invalid bytes completely.
        let written = stream.write_all(bytes).await;
        let read = stream.read_to_end(&mut answer).await;
        drop((written, read));
        answer
    };
    bounded(PATIENCE, exchange)
        .unwrap_or_else(|| panic!("the connection stays open after {}", bytes.escape_ascii()))
}

/// Runs an exchange, for a limited time.
fn bounded<T>(patience: Duration, exchange: impl Future<Output = T>) -> Option<T> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(patience, exchange).await }).ok()
}
