//! A pooler in transaction mode: each transaction of a client may be another server connection's.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use url::Url;

/// The server connections of each client, which take turns.
const CONNECTIONS: usize = 2;

/// Passes the messages of clients on to a server.
pub struct Pooler {
    url: Url,
}

impl Pooler {
    /// A pooler before the server that a URL names.
    pub fn to(server: &Url) -> Self {
        let address: SocketAddr =
            format!("{}:{}", server.host_str().unwrap(), server.port().unwrap_or(5432))
                .parse()
                .expect("an IP address");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let own = listener.local_addr().expect("a bound listener has an address");
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                thread::spawn(move || drop(serve(client, address)));
            }
        });
        let mut url = server.clone();
        url.set_ip_host(own.ip()).unwrap();
        url.set_port(Some(own.port())).unwrap();
        Self { url }
    }

    /// Where to connect instead of to the server.
    pub const fn url(&self) -> &Url {
        &self.url
    }
}

fn serve(mut client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut startup = message(&mut client, false)?;
    // There is no TLS.
    if startup.len() == 8 {
        client.write_all(b"N")?;
        startup = message(&mut client, false)?;
    }
    let mut servers = Vec::new();
    for number in 0..CONNECTIONS {
        let mut server = TcpStream::connect(server)?;
        server.write_all(&startup)?;
        answer(&mut server, (number == 0).then_some(&mut client))?;
        servers.push(server);
    }
    for turn in 0.. {
        let server = &mut servers[turn % CONNECTIONS];
        loop {
            let question = message(&mut client, true)?;
            server.write_all(&question)?;
            // A query, or the end of one.
            if matches!(question[0], b'Q' | b'S') && answer(server, Some(&mut client))? == b'I' {
                break;
            }
        }
    }
    Ok(())
}

/// Passes an answer on to its end; whether a transaction is open.
fn answer(server: &mut TcpStream, mut client: Option<&mut TcpStream>) -> io::Result<u8> {
    loop {
        let message = message(server, true)?;
        if let Some(client) = &mut client {
            client.write_all(&message)?;
        }
        if message[0] == b'Z' {
            return Ok(message[5]);
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
