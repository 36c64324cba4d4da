//! A proxy to PostgreSQL that severs its connections at a writing statement, as if the process was
//! killed before it sent the statement or before it received the answer.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const CHANGES: [&str; 8] =
    ["ALTER ", "CREATE ", "INSERT ", "UPDATE ", "DELETE ", "DROP ", "LOCK TABLE", "COMMIT"];

/// The longest time that a statement may take to be answered.
const PATIENCE: Duration = Duration::from_secs(20);

/// When the connections are severed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    BeforeItIsSent,
    BeforeTheAnswer,
}

pub struct SeveredProxy {
    address: SocketAddr,
    state: Arc<State>,
}

struct State {
    at: usize,
    moment: Moment,
    passed: AtomicUsize,
    is_severed: AtomicBool,
    statement: Mutex<String>,
    streams: Mutex<Vec<TcpStream>>,
}

impl SeveredProxy {
    /// A proxy to a server that severs connections at the statement of this number, from 0.
    pub fn to(server: String, at: usize, moment: Moment) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            at,
            moment,
            passed: AtomicUsize::new(0),
            is_severed: AtomicBool::new(false),
            statement: Mutex::default(),
            streams: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if shared.is_severed() {
                    return;
                }
                let server = TcpStream::connect(&server).unwrap();
                Arc::clone(&shared).pass(&client, &server);
            }
        });
        Self { address, state }
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the connections are severed, and returns the statement.
    pub async fn severed(&self) -> String {
        while !self.state.is_severed() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.state.statement.lock().unwrap().clone()
    }
}

impl State {
    fn is_severed(&self) -> bool {
        self.is_severed.load(Ordering::SeqCst)
    }

    fn pass(self: Arc<Self>, client: &TcpStream, server: &TcpStream) {
        let both = || [client.try_clone().unwrap(), server.try_clone().unwrap()];
        self.streams.lock().unwrap().extend(both());
        let [is_withheld, is_answered] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let [mut to, mut from] = both();
        let (withheld, answered) = (Arc::clone(&is_withheld), Arc::clone(&is_answered));
        thread::spawn(move || {
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                if withheld.load(Ordering::SeqCst) {
                    answered.store(true, Ordering::SeqCst);
                } else if to.write_all(&bytes[..read]).is_err() {
                    return;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
        let [mut from, mut to] = both();
        thread::spawn(move || {
            let mut messages = Messages::default();
            let mut bytes = vec![0; 64 * 1024];
            while let Ok(read @ 1..) = from.read(&mut bytes) {
                let changes = messages.changes(&bytes[..read]);
                let first = self.passed.fetch_add(changes.len(), Ordering::SeqCst);
                let severing = (first..).zip(&changes).find(|(number, _)| *number == self.at);
                if let Some((_, statement)) = severing {
                    statement.clone_into(&mut self.statement.lock().unwrap());
                    if self.moment == Moment::BeforeTheAnswer {
                        is_withheld.store(true, Ordering::SeqCst);
                        let _ = to.write_all(&bytes[..read]);
                        let since = Instant::now();
                        while !is_answered.load(Ordering::SeqCst) && since.elapsed() < PATIENCE {
                            thread::sleep(Duration::from_millis(1));
                        }
                    }
                    self.is_severed.store(true, Ordering::SeqCst);
                    for stream in self.streams.lock().unwrap().drain(..) {
                        let _ = stream.shutdown(Shutdown::Both);
                    }
                    return;
                }
                if to.write_all(&bytes[..read]).is_err() {
                    return;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

/// The received messages of a client.
#[derive(Default)]
struct Messages {
    bytes: Vec<u8>,
    is_started: bool,
    /// The texts of prepared statements by their names.
    prepared: HashMap<String, String>,
}

impl Messages {
    /// The writing statements among the next bytes.
    fn changes(&mut self, bytes: &[u8]) -> Vec<String> {
        const ENCRYPTION: [u8; 4] = 80_877_103_u32.to_be_bytes();
        self.bytes.extend_from_slice(bytes);
        let mut found = Vec::new();
        loop {
            // The first message has no type.
            let begin = usize::from(self.is_started);
            let Some(length) = self.bytes.get(begin..begin + 4) else { return found };
            let end = begin + u32::from_be_bytes(length.try_into().unwrap()) as usize;
            if self.bytes.len() < end {
                return found;
            }
            let message: Vec<_> = self.bytes.drain(..end).collect();
            if !self.is_started {
                self.is_started = message.get(4..8) != Some(&ENCRYPTION);
                continue;
            }
            let mut words = message[5..].split(|byte| *byte == 0);
            let mut word =
                || String::from_utf8_lossy(words.next().unwrap_or_default()).into_owned();
            let statement = match message[0] {
                b'Q' => word(),
                b'P' => {
                    let (name, text) = (word(), word());
                    self.prepared.insert(name, text);
                    continue;
                }
                b'B' => {
                    let (_portal, name) = (word(), word());
                    self.prepared.get(&name).cloned().unwrap_or_default()
                }
                _ => continue,
            };
            if CHANGES.iter().any(|change| statement.contains(change)) {
                found.push(statement);
            }
        }
    }
}
