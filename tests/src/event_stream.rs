//! Reading `/v1/changes/stream`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The longest time to wait for a line.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream that is read line by line.
pub struct EventStream {
    connection: BufReader<TcpStream>,
    /// The received text that was not read yet.
    content: String,
    id: String,
}

pub struct Event {
    pub id: String,
    pub data: Value,
}

impl EventStream {
    pub fn open(address: SocketAddr, query: &str, headers: &str) -> Self {
        let opened = Self::try_open(address, query, headers);
        opened.unwrap_or_else(|answer| panic!("the stream is not opened: {answer}"))
    }

    /// Opens a stream, or returns the first line of another answer.
    pub fn try_open(address: SocketAddr, query: &str, headers: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        write!(
            stream,
            "GET /v1/changes/stream{query} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"
        )
        .expect("the request is sent");
        let mut opened =
            Self { connection: BufReader::new(stream), content: String::new(), id: String::new() };
        let answer = opened.line();
        if !answer.starts_with("HTTP/1.1 200") {
            return Err(answer);
        }
        let lines = std::iter::repeat_with(|| opened.line().to_lowercase());
        let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        for expected in [
            "content-type: text/event-stream",
            "cache-control: no-store",
            "transfer-encoding: chunked",
        ] {
            assert!(head.iter().any(|line| line == expected), "{expected} in {head:?}");
        }
        Ok(opened)
    }

    /// A line of the head, or the size of a chunk.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.connection.read_line(&mut line).expect("the stream continues");
        line.trim_end_matches(['\r', '\n']).to_owned()
    }

    /// The next line of the content that is not empty.
    pub fn content(&mut self) -> String {
        loop {
            while !self.content.contains('\n') {
                let size = usize::from_str_radix(&self.line(), 16).expect("the size of a chunk");
                let mut chunk = vec![0; size + 2];
                self.connection.read_exact(&mut chunk).expect("a whole chunk");
                self.content.push_str(std::str::from_utf8(&chunk[..size]).expect("UTF-8"));
            }
            let (line, rest) = self.content.split_once('\n').expect("a whole line");
            let line = line.to_owned();
            self.content = rest.to_owned();
            if !line.is_empty() {
                return line;
            }
        }
    }

    /// Waits until the service ends the stream, for a limited time.
    pub fn end_within(mut self, time: Duration) {
        let deadline = Instant::now() + time;
        let mut part = [0; 4_096];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "the stream continues after {time:?}");
            let connection = self.connection.get_ref();
            connection.set_read_timeout(Some(left)).expect("a time");
            if self.connection.read(&mut part).expect("the service ends the stream") == 0 {
                return;
            }
        }
    }

    pub fn event(&mut self) -> Event {
        loop {
            let line = self.content();
            if let Some(id) = line.strip_prefix("id: ") {
                id.clone_into(&mut self.id);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).expect("JSON");
                return Event { id: self.id.clone(), data };
            }
        }
    }
}
