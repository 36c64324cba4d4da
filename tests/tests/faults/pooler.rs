//! A pooler in transaction mode: each transaction of a client may be on another connection to
//! the server: the one that was idle last.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use tests::stores::TestDatabase;

/// The idle server connections, and the server's answer to a new one.
type Idle = Arc<Mutex<Vec<(TcpStream, Vec<u8>)>>>;

/// Starts a pooler before the server of a database, and returns the URL through it.
pub fn url_of_pooler(database: &TestDatabase) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = database.url_through(listener.local_addr().expect("a bound listener has an address"));
    let server = database.server();
    thread::spawn(move || {
        let idle = Idle::default();
        for client in listener.incoming().flatten() {
            let (idle, server) = (Arc::clone(&idle), server.clone());
            thread::spawn(move || drop(serve(client, &server, &idle)));
        }
    });
    url
}

fn serve(mut client: TcpStream, address: &str, idle: &Idle) -> io::Result<()> {
    let mut startup = message(&mut client, false)?;
    // There is no TLS.
    if startup.len() == 8 {
        client.write_all(b"N")?;
        startup = message(&mut client, false)?;
    }
    let take = || {
        let taken = idle.lock().expect("no thread panics").pop();
        taken.map_or_else(|| connect(address, &startup), Ok)
    };
    let give_back = |server| idle.lock().expect("no thread panics").push(server);
    let server = take()?;
    client.write_all(&server.1)?;
    give_back(server);
    loop {
        let mut question = message(&mut client, true)?;
        let mut server = take()?;
        loop {
            server.0.write_all(&question)?;
            // A query, or the end of one.
            if matches!(question[0], b'Q' | b'S') {
                let (answer, is_idle) = answer(&mut server.0)?;
                client.write_all(&answer)?;
                if is_idle {
                    break;
                }
            }
            question = message(&mut client, true)?;
        }
        give_back(server);
    }
}

fn connect(address: &str, startup: &[u8]) -> io::Result<(TcpStream, Vec<u8>)> {
    let mut server = TcpStream::connect(address)?;
    server.write_all(startup)?;
    let (answer, _) = answer(&mut server)?;
    Ok((server, answer))
}

/// An answer to its end, and whether no transaction is open.
fn answer(server: &mut TcpStream) -> io::Result<(Vec<u8>, bool)> {
    let mut answer = Vec::new();
    loop {
        let message = message(server, true)?;
        answer.extend_from_slice(&message);
        if message[0] == b'Z' {
            return Ok((answer, message[5] == b'I'));
        }
    }
}

fn message(stream: &mut TcpStream, has_type: bool) -> io::Result<Vec<u8>> {
    let head = if has_type { 5 } else { 4 };
    let mut message = vec![0; head];
    stream.read_exact(&mut message)?;
    let length = u32::from_be_bytes(message[head - 4..].try_into().expect("four bytes"));
    let length = usize::try_from(length).expect("a length") - 4;
    message.resize(head + length, 0);
    stream.read_exact(&mut message[head..])?;
    Ok(message)
}
