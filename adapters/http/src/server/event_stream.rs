//! Event streams, written without hyper.
//!
//! A stream lasts for hours, and hyper would keep 16 KiB of buffers and request state for it. So
//! the response leaves hyper before its first byte. It is the last response of its connection.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use hyper::header::{CONNECTION, CONTENT_TYPE, DATE, TRANSFER_ENCODING};
use hyper::{Method, Version};
use poem::Response;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::time::timeout;

use super::{Stage, Stages};
use crate::headers::media_type::MediaType;
use crate::time::http_date;
use crate::time::now;

const AT_ONCE: usize = 32;

pub(super) struct EventStream {
    head: Vec<u8>,
    is_chunked: bool,
    events: Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>,
}

impl EventStream {
    pub(super) fn is_one(method: &Method, response: &Response) -> bool {
        let media = response.headers().get(CONTENT_TYPE).map(AsRef::as_ref);
        method == Method::GET && media == Some(MediaType::EVENT_STREAM.name().as_bytes())
    }

    pub(super) fn of(version: Version, response: Response) -> Self {
        let is_chunked = version >= Version::HTTP_11;
        let mut head = format!("HTTP/1.1 {}\r\n", response.status()).into_bytes();
        let mut line = |name: &str, value: &[u8]| {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                head.extend_from_slice(part);
            }
        };
        for (name, value) in response.headers() {
            line(name.as_str(), value.as_bytes());
        }
        line(DATE.as_str(), http_date(&now()).as_bytes());
        line(CONNECTION.as_str(), b"close");
        if is_chunked {
            line(TRANSFER_ENCODING.as_str(), b"chunked");
        }
        head.extend_from_slice(b"\r\n");
        Self { head, is_chunked, events: Box::pin(response.into_body().into_bytes_stream()) }
    }

    pub(super) async fn send(self, mut client: TcpStream, limit: Duration, stages: Stages) {
        let (mut reader, mut writer) = client.split();
        tokio::select! {
            biased;
            _ = self.write(&mut writer, limit, stages) => {}
            () = gone(&mut reader) => {}
        }
    }

    async fn write(
        self,
        client: &mut WriteHalf<'_>,
        limit: Duration,
        mut stages: Stages,
    ) -> io::Result<()> {
        timeout(limit, client.write_all(&self.head)).await??;
        drop(self.head);
        let mut events = self.events.ready_chunks(AT_ONCE);
        loop {
            let ready = tokio::select! {
                biased;
                () = stages.reached(Stage::Draining) => None,
                ready = events.next() => ready,
            };
            let Some(ready) = ready else { break };
            let content = ready.into_iter().collect::<io::Result<Vec<Bytes>>>()?.concat();
            let part = if self.is_chunked { chunk(&content)? } else { content };
            timeout(limit, client.write_all(&part)).await??;
        }
        if self.is_chunked {
            timeout(limit, client.write_all(b"0\r\n\r\n")).await??;
        }
        client.shutdown().await
    }
}

/// RFC 9112 section 7.1.
fn chunk(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(content.len() + 12);
    write!(chunk, "{:x}\r\n", content.len())?;
    chunk.extend_from_slice(content);
    chunk.extend_from_slice(b"\r\n");
    Ok(chunk)
}

async fn gone(client: &mut ReadHalf<'_>) {
    let mut forgotten = [0; 256];
    while matches!(client.read(&mut forgotten).await, Ok(1..)) {}
}
