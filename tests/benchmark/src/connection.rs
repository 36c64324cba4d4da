//! One keep-alive connection: as little of HTTP/1.1 as it takes to send prepared bytes and to know
//! where the answer ends.
//!
//! The load generator takes processor time from the server on the same machine, so it parses only
//! the status and Content-Length, which all measured answers have.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use httparse::{EMPTY_HEADER, Response, Status};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MOST_HEADERS: usize = 48;
const READ_SIZE: usize = 16 * 1024;

pub(super) struct Connection {
    address: SocketAddr,
    stream: TcpStream,
    buffer: Vec<u8>,
    head: Head,
}

#[derive(Clone, Copy, Default)]
struct Head {
    status: u16,
    length: usize,
    body: usize,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { address, stream, buffer: Vec::new(), head: Head::default() })
    }

    pub(super) async fn reopen(&mut self) -> Result<()> {
        *self = Self::open(self.address).await?;
        Ok(())
    }

    /// Gives the status of the whole answer. After an error, the connection needs `reopen`.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        let mut head = None;
        loop {
            self.buffer.reserve(READ_SIZE);
            let count = self.stream.read_buf(&mut self.buffer).await?;
            ensure!(count > 0, "the server closed the connection");
            if head.is_none() {
                head = parse_head(&self.buffer)?;
            }
            if let Some(head) = head.filter(|it| self.buffer.len() >= it.length + it.body) {
                self.head = head;
                return Ok(head.status);
            }
        }
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.buffer[self.head.length..]
    }
}

pub(super) fn get(target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nAccept: application/hal+json\r\n\r\n")
        .into_bytes()
}

fn parse_head(bytes: &[u8]) -> Result<Option<Head>> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut response = Response::new(&mut headers);
    let Status::Complete(length) = response.parse(bytes).context("the answer is not HTTP/1.1")?
    else {
        return Ok(None);
    };
    let mut head = Head { status: response.code.unwrap_or_default(), length, body: 0 };
    for header in response.headers.iter() {
        ensure!(!header.name.eq_ignore_ascii_case("transfer-encoding"), "an answer in chunks");
        if header.name.eq_ignore_ascii_case("content-length") {
            head.body = std::str::from_utf8(header.value)?.parse()?;
        }
    }
    Ok(Some(head))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::Connection;

    /// Serves one request with these pieces, a pause between them, and gives what the client made
    /// of it.
    async fn answer(pieces: &[&str]) -> anyhow::Result<(u16, String)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let server = async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
            for piece in pieces {
                stream.write_all(piece.as_bytes()).await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        let client = async {
            let mut connection = Connection::open(address).await?;
            let status = connection.exchange(b"ping").await?;
            Ok((status, String::from_utf8_lossy(connection.body()).into_owned()))
        };
        tokio::join!(server, client).1
    }

    #[tokio::test]
    async fn an_answer_is_read_to_its_end_and_a_cut_one_is_an_error() {
        let rows: [(&[&str], _); 4] = [
            (&["HTTP/1.1 422 No\r\ncontent-len", "gth: 5\r\n\r\nhe", "llo"], Some((422, "hello"))),
            (&["HTTP/1.1 204 No Content\r\n\r\n"], Some((204, ""))),
            (&["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"], None),
            (&["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"], None),
        ];
        for (pieces, expected) in rows {
            let expected = expected.map(|(status, body)| (status, body.to_owned()));
            assert_eq!(answer(pieces).await.ok(), expected, "{pieces:?}");
        }
    }
}
