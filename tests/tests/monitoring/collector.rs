//! A collector of traces by OTLP over HTTP, with a configurable manner.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use serde_json::{Value, json};
use tests::wait_until;

/// How spans are answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Take,
    Refuse(u16),
    /// Reads, and never answers.
    Hang,
    /// Answers with bytes that are not HTTP.
    Garbage,
    /// Reads a byte every 10 ms.
    Slow,
}

#[derive(Default)]
pub struct Taken {
    spans: Vec<Span>,
    pub resource: BTreeMap<String, Value>,
    /// The header lines of the last request.
    pub headers: Vec<String>,
}

pub struct Collector {
    address: SocketAddr,
    manner: Arc<Mutex<Manner>>,
    taken: Arc<Mutex<Taken>>,
}

impl Collector {
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (manner, taken) = (Arc::new(Mutex::new(manner)), Arc::<Mutex<Taken>>::default());
        let (of_thread, into) = (Arc::clone(&manner), Arc::clone(&taken));
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (manner, taken) = (Arc::clone(&of_thread), Arc::clone(&into));
                std::thread::spawn(move || serve(connection, &manner, &taken));
            }
        });
        Self { address, manner, taken }
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn set(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap()
    }

    pub fn spans(&self) -> Vec<Span> {
        self.taken().spans.clone()
    }

    /// The spans of a trace, once this number was received.
    #[track_caller]
    pub fn wait_for(&self, trace: &str, number: usize) -> Vec<Span> {
        wait_until(|| self.spans_of(trace).len() >= number);
        let spans = self.spans_of(trace);
        assert_eq!(spans.len(), number, "{:?}", names(&spans));
        spans
    }

    pub fn spans_of(&self, trace: &str) -> Vec<Span> {
        let mut spans = self.spans();
        spans.retain(|span| hex(&span.trace_id) == trace);
        spans
    }
}

/// Serves a connection until its end or an unexpected message.
fn serve(connection: TcpStream, manner: &Mutex<Manner>, taken: &Mutex<Taken>) -> Option<()> {
    let mut answers = connection.try_clone().ok()?;
    let mut reader = BufReader::new(connection);
    loop {
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            headers.push(line);
        }
        let length = headers.iter().find_map(|line| line.strip_prefix("content-length: "))?;
        let mut body = vec![0; length.parse().ok()?];
        let manner = *manner.lock().unwrap();
        if manner == Manner::Slow {
            for byte in &mut body {
                reader.read_exact(std::slice::from_mut(byte)).ok()?;
                std::thread::sleep(Duration::from_millis(10));
            }
        } else {
            reader.read_exact(&mut body).ok()?;
        }
        let answer = match manner {
            Manner::Take => {
                take(&body, headers, &mut taken.lock().unwrap());
                "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            Manner::Refuse(status) => {
                format!("HTTP/1.1 {status} No\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n")
            }
            Manner::Garbage => "\0\u{1}\u{2}garbage\r\n\r\n".repeat(1000),
            Manner::Hang | Manner::Slow => loop {
                std::thread::park();
            },
        };
        answers.write_all(answer.as_bytes()).ok()?;
    }
}

fn take(body: &[u8], headers: Vec<String>, taken: &mut Taken) {
    let request = ExportTraceServiceRequest::decode(body).expect("a request of OTLP");
    taken.headers = headers;
    for resource_spans in request.resource_spans {
        let resource = resource_spans.resource.unwrap_or_default();
        taken.resource = attributes(&resource.attributes);
        for scope in resource_spans.scope_spans {
            taken.spans.extend(scope.spans);
        }
    }
}

/// Attributes by their names: strings and integers.
pub fn attributes(attributes: &[KeyValue]) -> BTreeMap<String, Value> {
    let json = |value: &Option<AnyValue>| match value.as_ref().and_then(|it| it.value.as_ref()) {
        Some(any_value::Value::StringValue(string)) => json!(string),
        Some(any_value::Value::IntValue(number)) => json!(number),
        other => panic!("an attribute is {other:?}"),
    };
    attributes.iter().map(|KeyValue { key, value, .. }| (key.clone(), json(value))).collect()
}

pub fn names(spans: &[Span]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

#[track_caller]
pub fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found = spans.iter().find(|span| span.name == name);
    found.unwrap_or_else(|| panic!("no {name:?} in {:?}", names(spans)))
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
