//! The bounds of every attack, and a client that sends any bytes at any pace.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{RwLock, RwLockWriteGuard};
use tests::{End, Item, Service};

/// A request that asks for little.
pub const GET: &str = "GET /v1/statuses HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// The most memory the service may take at its peak.
pub const MOST_MEMORY: u64 = 200 << 20;

/// How long others may have to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the service may take to close a connection: longer than any of its limits.
const LONGEST: Duration = Duration::from_secs(45);

/// Held for writing by attacks that keep all processors busy for minutes. The time limits of other attacks
/// would fail at the same time.
static PROCESSORS: RwLock<()> = RwLock::new(());

/// Keeps the attacks of other tests away until the guard is dropped.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    PROCESSORS.write()
}

/// Attacks a service while another client reads and writes: that one is answered in time throughout
/// and afterwards. The service holds at most [`MOST_MEMORY`], and logs neither a panic nor an internal
/// error.
pub fn withstands(service: &Service, attack: impl FnOnce()) {
    let _shared = PROCESSORS.read();
    withstands_alone(service, attack);
}

/// The same for a test that is [`alone`].
pub fn withstands_alone(service: &Service, attack: impl FnOnce()) {
    let item = service.create("/v1/statuses", r#"{"n":0}"#);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                is_served(service, &item);
                thread::sleep(Duration::from_millis(20));
            }
        });
        // The other client also ends when the attack fails.
        let _end = End(&is_over);
        attack();
    });
    is_served(service, &item);
    let (peak, log) = (service.peak_memory(), service.log());
    println!("peak memory: {} MiB", peak >> 20);
    assert!(peak < MOST_MEMORY, "{} MiB at the peak", peak >> 20);
    for sign in ["panicked", "status=500", "ERROR"] {
        assert!(!log.contains(sign), "{log}");
    }
}

fn is_served(service: &Service, item: &Item) {
    let asked = Instant::now();
    let _ = service.get(&item.path).send().expect(200);
    let _ = service.put(&item.path).json(r#"{"n":1}"#).send().expect(200);
    assert!(asked.elapsed() < PATIENCE, "another client waited for {:?}", asked.elapsed());
}

/// A connection on which anything can be sent.
pub struct Raw(TcpStream);

impl Raw {
    pub fn open(service: &Service) -> Self {
        let stream = TcpStream::connect(service.address()).expect("the service takes connections");
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        Self(stream)
    }

    /// Sends bytes, unless the service closed the connection already.
    pub fn send(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let _ = self.0.write_all(bytes.as_ref());
        self
    }

    /// Sends bytes, and gives up when the service takes no more of them for so long.
    pub fn send_for(self, bytes: impl AsRef<[u8]>, patience: Duration) -> Self {
        self.0.set_write_timeout(Some(patience)).unwrap();
        self.send(bytes)
    }

    /// Sends one byte after the other until all are sent or the service has closed the connection.
    pub fn drip(mut self, bytes: impl AsRef<[u8]>, pause: Duration) -> Self {
        for byte in bytes.as_ref() {
            if self.0.write_all(&[*byte]).is_err() {
                break;
            }
            thread::sleep(pause);
        }
        self
    }

    /// Says that nothing more is sent.
    pub fn done(self) -> Self {
        let _ = self.0.shutdown(Shutdown::Write);
        self
    }

    /// The first bytes of the next answer.
    pub fn beginning(&mut self) -> String {
        let mut bytes = [0; 4096];
        let n = self.0.read(&mut bytes).expect("an answer in time");
        String::from_utf8_lossy(&bytes[..n]).into_owned()
    }

    /// All that comes until the service closes the connection.
    pub fn rest(mut self) -> String {
        let (mut bytes, mut part) = (Vec::new(), vec![0; 64 * 1024]);
        loop {
            match self.0.read(&mut part) {
                Ok(0) => break,
                Ok(n) => bytes.extend_from_slice(&part[..n]),
                // A connection that is closed with input unread is reset; what came before is the
                // answer.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(error) => panic!(
                    "the connection stays open ({error}) after {}",
                    String::from_utf8_lossy(&bytes)
                ),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The statuses of the answers in what came.
pub fn statuses(text: &str) -> Vec<u16> {
    text.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.get(..3)?.parse().ok()).collect()
}

/// All that comes back for some bytes.
pub fn answer_to(service: &Service, bytes: impl AsRef<[u8]>) -> String {
    Raw::open(service).send(bytes).done().rest()
}

/// Sends bytes that must get one answer, with one of these statuses.
#[track_caller]
pub fn expect_one(service: &Service, what: &str, bytes: impl AsRef<[u8]>, allowed: &[u16]) {
    require_one(what, &answer_to(service, bytes), allowed);
}

#[track_caller]
fn require_one(what: &str, text: &str, allowed: &[u16]) {
    let is_allowed = matches!(statuses(text)[..], [status] if allowed.contains(&status));
    assert!(is_allowed, "{what} is not {allowed:?}: {text}");
}

/// Sends halves of requests that get one of these statuses, and at the same time a head and one byte of
/// the rest in each second, for which the status is 408.
pub fn send_slowly(
    service: &Service,
    halves: impl Iterator<Item = impl AsRef<[u8]>>,
    allowed: &[u16],
    (head, rest): (&str, &str),
) {
    let halves: Vec<_> = halves.map(|half| Raw::open(service).send(half)).collect();
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let text = Raw::open(service).send(head).drip(rest, Duration::from_secs(1)).rest();
                // A client that still sends may see the connection reset before the answer.
                assert!(statuses(&text).iter().all(|status| *status == 408), "{text}");
            });
        }
        for half in halves {
            require_one("a half", &half.rest(), allowed);
        }
    });
}

#[track_caller]
pub fn expect_total(service: &Service, collection: &str, total: usize) {
    assert_eq!(service.list(collection, "page_size=1").value()["total_items"], total);
}

/// The head of a POST of JSON to `path`, with a line that gives the length of the body; the connection
/// ends with the answer.
pub fn head_of_post(path: &str, framing: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n{framing}\r\n\r\n"
    )
}
