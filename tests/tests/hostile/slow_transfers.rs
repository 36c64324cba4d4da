//! Clients that send or read contents a byte at a time.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use tests::{Service, Store};

use crate::attack::withstands;

const CLIENTS: usize = 100;

const ENDED: Duration = Duration::from_mins(2);

#[test]
fn transfers_of_a_byte_per_second_are_ended_within_two_minutes() {
    let service = Service::start(Store::Sqlite);
    let [read, written] = [1, 2].map(|_| service.create("/v1/files", "{}"));
    // More than the buffers of a connection hold.
    let content = service.put(&format!("{}/content", read.path));
    let _ = content.body("text/plain", vec![b'x'; 24 << 20]).expect(201);
    let begin = |head: String| {
        let mut client = TcpStream::connect(service.address()).unwrap();
        client.write_all(head.as_bytes()).unwrap();
        client.set_nonblocking(true).unwrap();
        client
    };
    let before = service.open_files();
    withstands(&service, || {
        let download =
            |_| begin(format!("GET {}/content HTTP/1.1\r\nHost: localhost\r\n\r\n", read.path));
        let upload = |_| {
            begin(format!(
                "PUT {}/content HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n",
                written.path
            ))
        };
        let mut downloads: Vec<_> = (0..CLIENTS).map(download).collect();
        let mut uploads: Vec<_> = (0..CLIENTS).map(upload).collect();
        let since = Instant::now();
        thread::sleep(Duration::from_secs(1));
        assert!(service.open_files() > before + 2 * CLIENTS, "all are transferred");
        // The connection of the other client is among the open files.
        while service.open_files() > before + 5 {
            assert!(since.elapsed() < ENDED, "{} files are open", service.open_files());
            for client in &mut downloads {
                let _ = client.read(&mut [0]);
            }
            for client in &mut uploads {
                let _ = client.write(b"x");
            }
            thread::sleep(Duration::from_secs(1));
        }
        println!("ended after {:?}", since.elapsed());
    });
}
