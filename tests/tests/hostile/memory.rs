//! Requests that need many times their size, and requests at random, many at once.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use tests::{Service, on_each_store};

use crate::attack::withstands;

const FILES: &str = "/v1/files";

/// The limit of a request's body.
const LIMIT: usize = 8 << 20;

/// Sends requests at random for as long.
const ATTACK: Duration = Duration::from_secs(15);

/// Connections that send at once.
const SENDERS: u64 = 24;

/// Longer than any request may take.
const PATIENCE: Duration = Duration::from_mins(1);

#[test]
fn patches_and_restorations_of_large_items_are_done_a_few_at_a_time() {
    on_each_store(|service| {
        for (words, restorations) in [(7 << 19, 0), (200_000, 8)] {
            let item = service.create(FILES, &format!(r#"{{"text":"{}"}}"#, "x ".repeat(words)));
            withstands(service, || {
                thread::scope(|scope| {
                    for number in 0..32 {
                        let request = if number < restorations {
                            service.post(&format!("{}/versions/1", item.path))
                        } else {
                            service.patch(&item.path).json(format!(r#"{{"x":{number}}}"#))
                        };
                        scope.spawn(|| {
                            let status = request.send_unchecked().status;
                            assert!(matches!(status, 200 | 503), "{status}");
                        });
                    }
                });
            });
            let versions = service.list(&format!("{}/versions", item.path), "").value();
            assert!(versions["total_items"].as_u64() > Some(1), "some were done: {versions}");
        }
    });
}

/// Bodies of all sizes; parsed, some take many times their size.
fn bodies(random: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let mut body = |number: usize| {
        let size = 1 << random.usize(1..23);
        let body = match number % 5 {
            0 => format!(r#"{{"a":"{}"}}"#, "x y ".repeat(size / 4)),
            1 => {
                let members: Vec<_> = (0..size / 12).map(|n| format!(r#""a{n}":{n}"#)).collect();
                format!("{{{}}}", members.join(","))
            }
            2 => format!(r#"{{"a":[1{}]}}"#, ",1".repeat(size / 2)),
            3 => format!("[{{}}{}]", ",{}".repeat((size / 3).min(60_000))),
            _ => {
                let text = "w ".repeat(size / 2);
                format!(r#"{{"proposal_type":"a","project_title":"b","description":"{text}"}}"#)
            }
        };
        assert!(body.len() <= LIMIT);
        body.into_bytes()
    };
    (0..60).map(&mut body).collect()
}

/// A request at random, perhaps with wrong bytes in it.
fn request(random: &mut fastrand::Rng, bodies: &[Vec<u8>], items: &[String]) -> Vec<u8> {
    let collection = *random.choice(&[FILES, "/v1/proposals", "/v1/cashprogram", "/lib"]).unwrap();
    let method = *random.choice(&["POST", "POST", "PUT", "PATCH", "GET", "DELETE"]).unwrap();
    let item = random.choice(items).map_or(FILES, String::as_str);
    let path = match method {
        "POST" => collection,
        "PUT" if random.u8(..4) == 0 => "/v1/cashprogram",
        _ => item,
    };
    let mut body = match method {
        "GET" | "DELETE" => Vec::new(),
        _ => random.choice(bodies).cloned().unwrap_or_default(),
    };
    if random.u8(..5) == 0 && !body.is_empty() {
        let place = random.usize(..body.len());
        body[place] = random.u8(..);
    }
    let gzip = if random.bool() { "Accept-Encoding: gzip\r\n" } else { "" };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n{gzip}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut bytes = head.into_bytes();
    if random.u8(..10) == 0 {
        let place = random.usize(..bytes.len());
        bytes[place] = random.u8(..);
    }
    bytes.append(&mut body);
    bytes
}

/// The head of the answer.
fn exchange(service: &Service, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(service.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let (mut head, mut part) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(read @ 1..) = stream.read(&mut part) {
        head.extend_from_slice(&part[..read.min((2048_usize).saturating_sub(head.len()))]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn send_at_random(service: &Service, seed: u64, bodies: &[Vec<u8>]) {
    let (begun, mut random) = (Instant::now(), fastrand::Rng::with_seed(seed));
    let mut items = Vec::new();
    while begun.elapsed() < ATTACK {
        let head = exchange(service, &request(&mut random, bodies, &items));
        let location = head.lines().find_map(|line| line.strip_prefix("location: http://"));
        if let Some((_, path)) = location.and_then(|url| url.split_once('/')) {
            items.push(format!("/{path}"));
        }
    }
}

#[test]
fn requests_at_random_with_bodies_of_all_sizes_take_a_bounded_memory() {
    on_each_store(|service| {
        let seed = 13;
        let bodies = bodies(&mut fastrand::Rng::with_seed(seed));
        withstands(service, || {
            thread::scope(|scope| {
                for sender in 0..SENDERS {
                    let bodies = &bodies;
                    scope.spawn(move || send_at_random(service, seed + sender, bodies));
                }
            });
        });
    });
}
