//! One keep-alive connection: as little of HTTP/1.1 as it takes to send prepared bytes and to know
//! where the answer ends.
//!
//! The load generator takes processor time from the server on the same machine, so it parses only
//! the status, Content-Length, chunked coding and `Connection: close`.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail, ensure};
use httparse::{EMPTY_HEADER, Response, Status, parse_chunk_size};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const MOST_HEADERS: usize = 48;
const LONGEST_HEAD: usize = 64 * 1024;
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
    body: Framing,
    closes: bool,
}

#[derive(Clone, Copy, Default)]
enum Framing {
    #[default]
    None,
    Length(usize),
    Chunked,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> Result<Self> {
        Ok(Self {
            address,
            stream: connect(address).await?,
            buffer: Vec::with_capacity(READ_SIZE),
            head: Head::default(),
        })
    }

    pub(super) async fn reopen(&mut self) -> Result<()> {
        self.stream = connect(self.address).await?;
        Ok(())
    }

    /// Gives the status of the whole answer. After an error, the connection needs `reopen`.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        self.head = self.read_head().await?;
        match self.head.body {
            Framing::None => {}
            Framing::Length(length) => self.read_until(self.head.length + length).await?,
            Framing::Chunked => self.read_chunks().await?,
        }
        if self.head.closes {
            self.reopen().await?;
        }
        Ok(self.head.status)
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.buffer[self.head.length..]
    }

    async fn read_head(&mut self) -> Result<Head> {
        loop {
            self.read_more().await?;
            if let Some(head) = parse_head(&self.buffer)? {
                return Ok(head);
            }
            ensure!(self.buffer.len() < LONGEST_HEAD, "the answer's head is endless");
        }
    }

    /// Joins the chunks in place: `decoded` bytes are body, what follows them is still to be
    /// decoded.
    async fn read_chunks(&mut self) -> Result<()> {
        let mut decoded = self.head.length;
        let mut next = self.head.length;
        loop {
            let (head, size) = match parse_chunk_size(&self.buffer[next..]) {
                Ok(Status::Complete((head, size))) => (head, usize::try_from(size)?),
                Ok(Status::Partial) => {
                    self.read_more().await?;
                    continue;
                }
                Err(_) => bail!("a chunk without a size"),
            };
            let chunk = next + head;
            self.read_until(chunk + size + 2).await?;
            self.buffer.copy_within(chunk..chunk + size, decoded);
            decoded += size;
            next = chunk + size + 2;
            if size == 0 {
                self.buffer.truncate(decoded);
                return Ok(());
            }
        }
    }

    async fn read_until(&mut self, length: usize) -> Result<()> {
        self.buffer.reserve(length.saturating_sub(self.buffer.len()));
        while self.buffer.len() < length {
            self.read_more().await?;
        }
        Ok(())
    }

    async fn read_more(&mut self) -> Result<()> {
        if self.buffer.capacity() == self.buffer.len() {
            self.buffer.reserve(READ_SIZE);
        }
        let count = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(count > 0, "the server closed the connection");
        Ok(())
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)
        .await
        .with_context(|| format!("cannot connect to {address}"))?;
    stream.set_nodelay(true)?;
    Ok(stream)
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
    let mut head = Head { status: response.code.unwrap_or_default(), length, ..Head::default() };
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            head.body = Framing::Length(std::str::from_utf8(header.value)?.parse()?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            ensure!(header.value.eq_ignore_ascii_case(b"chunked"), "an unknown transfer coding");
            head.body = Framing::Chunked;
        } else if header.name.eq_ignore_ascii_case("connection") {
            head.closes = header.value.eq_ignore_ascii_case(b"close");
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
    async fn an_answer_is_read_to_its_end() {
        let chunked = "HTTP/1.1 422 No\r\nTransfer-Encoding: chunked\r\n\r\n";
        let rows: [(&[&str], _); 3] = [
            (&["HTTP/1.1 200 OK\r\ncontent-len", "gth: 5\r\n\r\nhe", "llo"], (200, "hello")),
            (
                &[chunked, "5\r\nhel", "lo\r\n6\r\n wor", "ld\r\n0\r", "\n\r\n"],
                (422, "hello world"),
            ),
            (&["HTTP/1.1 204 No Content\r\n\r\n"], (204, "")),
        ];
        for (pieces, (status, body)) in rows {
            assert_eq!(answer(pieces).await.unwrap(), (status, body.to_owned()), "{pieces:?}");
        }
    }

    #[tokio::test]
    async fn a_cut_answer_is_an_error() {
        assert!(answer(&["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"]).await.is_err());
    }
}
