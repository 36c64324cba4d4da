//! `load`: a file of items is sent to a running service.

use std::fs;
use std::process::Output;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::tool::done;
use tests::{Service, Store, free_address};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::{command, folder};

const CERTIFICATES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../adapters/identity/tests/identity/certificates");

fn load(folder: &TempDir, url: &str, name: &str, options: &[&str]) -> Output {
    let arguments = [&["load", name, "--group", "proposals", "--url", url], options].concat();
    command(folder, &arguments).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_file_is_loaded_checked_and_changed() {
    let service = Service::start(Store::Sqlite);
    let (folder, url) = (folder(), format!("http://{}", service.address()));
    fs::write(folder.path().join("new.csv"), "project_title,proposal_type\nA,B\nC,D\n").unwrap();
    let (code, out, _) = said(&load(&folder, &url, "new.csv", &["--dry-run"]));
    assert_eq!(
        (code, &*out),
        (Some(0), "would be created 2, replaced 0, unchanged 0, refused 0\n")
    );
    let (code, out, error) = said(&load(&folder, &url, "new.csv", &[]));
    assert_eq!(
        (code, &*out),
        (Some(0), "created 2, replaced 0, unchanged 0, refused 0\n"),
        "{error}"
    );
    let exported = service.get("/exports/proposals.csv").accept("*/*").send().expect(200);
    let changed = exported.text().replace(",A,", ",Z,");
    fs::write(folder.path().join("changed.csv"), changed).unwrap();
    let (_, out, _) = said(&load(&folder, &url, "changed.csv", &["--upsert"]));
    assert_eq!(out, "created 0, replaced 1, unchanged 1, refused 0\n");
    assert_eq!(service.list("/v1/proposals", "").each("project_title"), ["Z", "C"]);
}

#[test]
fn rows_that_are_refused_are_listed() {
    let service = Service::start(Store::Sqlite);
    let (folder, url) = (folder(), format!("http://{}", service.address()));
    fs::write(
        folder.path().join("x.ndjson"),
        "{\"project_title\":\"A\",\"proposal_type\":\"B\"}\n{}\n",
    )
    .unwrap();
    let (code, out, error) = said(&load(&folder, &url, "x.ndjson", &[]));
    assert_eq!(code, Some(1));
    assert!(out.starts_with("row 2, proposal_type: `proposal_type` is required"), "{out}");
    assert!(
        error.contains("nothing was stored, because the service refused it with status 422"),
        "{error}"
    );
    let (code, out, error) = said(&load(&folder, &url, "x.ndjson", &["--each"]));
    assert_eq!(code, Some(1));
    assert!(out.starts_with("created 1, replaced 0, unchanged 0, refused 1\nrow 2, "), "{out}");
    assert!(error.ends_with("1 rows were refused; the others are done\n"), "{error}");
}

#[test]
fn what_cannot_be_loaded_is_told() {
    let (folder, nowhere) = (folder(), "http://127.0.0.1:1");
    fs::write(folder.path().join("x.pdf"), "").unwrap();
    let (code, _, error) = said(&load(&folder, nowhere, "x.pdf", &[]));
    assert_eq!(code, Some(2));
    assert!(error.contains("ends in .csv, .xlsx, .ndjson, .json"), "{error}");
    let (code, _, error) = said(&load(&folder, nowhere, "missing.csv", &[]));
    assert_eq!(code, Some(1));
    assert!(error.contains("cannot read missing.csv"), "{error}");
}

#[test]
fn a_load_fails_at_once_where_nothing_listens() {
    let folder = folder();
    fs::write(folder.path().join("a.csv"), "project_title,proposal_type\nA,B\n").unwrap();
    let nowhere = format!("http://{}", free_address());
    for (url, reason) in [
        (
            nowhere.as_str(),
            "nothing listens there; start the service, or give its address with --url",
        ),
        ("http://no-such-host.invalid", "there is no host of this name"),
    ] {
        let began = Instant::now();
        let (code, out, error) = said(&load(&folder, url, "a.csv", &[]));
        assert_eq!((code, &*out), (Some(1), ""));
        let line = format!("proposal-service: {url}/: {reason}");
        assert!(error.starts_with(&line) && error.lines().count() == 1, "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

/// A folder with a file of one proposal, an identity file that knows one key, and a service that knows
/// its callers by it; the key.
fn with_identity(store: Store) -> (TempDir, Service, String) {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("a.csv"), "project_title,proposal_type\nA,B\n").unwrap();
    let printed = String::from_utf8(done(&["keys", "new", "loader"])).unwrap();
    let (key, line) = printed.trim_end().split_once('\n').unwrap();
    fs::write(at("identity.yaml"), format!("keys:\n{line}\n")).unwrap();
    fs::write(at("token"), format!("{key}\n")).unwrap();
    let identity = at("identity.yaml");
    let service = Service::start_with(store, &["--identity", identity.to_str().unwrap()]);
    (folder, service, key.to_owned())
}

#[test]
fn a_load_sends_the_token_of_a_file_or_of_the_environment() {
    const CREATED: &str = "created 1, replaced 0, unchanged 0, refused 0\n";
    for store in [Store::Sqlite, Store::Postgres] {
        let (folder, service, key) = with_identity(store);
        let url = format!("http://{}", service.address());
        let (code, _, error) = said(&load(&folder, &url, "a.csv", &[]));
        assert!(code == Some(1) && error.contains("status 401"), "{error}");
        let (code, out, error) = said(&load(&folder, &url, "a.csv", &["--token-file", "token"]));
        assert_eq!((code, &*out), (Some(0), CREATED), "{error}");
        let by_environment = |token: &str, options: &[&str]| {
            let words = ["load", "a.csv", "--group", "proposals", "--url", &url];
            let mut command = command(&folder, &[&words[..], options].concat());
            said(&command.env("PROPOSAL_SERVICE_TOKEN", token).output().unwrap())
        };
        assert_eq!(by_environment(&key, &[]).1, CREATED);
        assert_eq!(by_environment("wrong", &["--token-file", "token"]).1, CREATED);
        let request = service.get("/v1/changes").header("authorization", format!("Bearer {key}"));
        let changes = request.send().expect(200).embedded("changes");
        assert_eq!(changes.iter().filter(|it| it["caller"] == "key:loader").count(), 3);
        for (token, file, reason) in [
            ("two words", None, "PROPOSAL_SERVICE_TOKEN holds no token"),
            ("", Some("a.csv"), "a.csv (--token-file) holds no token"),
            ("", Some("missing"), "cannot read the token from missing (--token-file)"),
        ] {
            let options = file.map_or_else(Vec::new, |file| vec!["--token-file", file]);
            let (code, _, error) = by_environment(token, &options);
            assert_eq!(code, Some(2));
            assert!(error.contains(reason) && !error.contains("two words"), "{error}");
        }
    }
}

/// Puts TLS before a service, with a certificate of an authority that no system knows; the URL.
fn secured(runtime: &Runtime, service: &Service) -> String {
    let pem = |name: &str| format!("{CERTIFICATES}/{name}");
    let certificate = CertificateDer::from_pem_file(pem("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(pem("server.key")).unwrap();
    let provider = Arc::new(crypto::ring::default_provider());
    let configuration = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(configuration));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let behind = service.address();
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await?;
                let mut plain = TcpStream::connect(behind).await?;
                tokio::io::copy_bidirectional(&mut stream, &mut plain).await
            });
        }
    });
    url
}

#[test]
fn a_load_trusts_the_certificates_of_the_system_and_no_others() {
    let (folder, service, _) = with_identity(Store::Sqlite);
    let runtime = Runtime::new().unwrap();
    let url = secured(&runtime, &service);
    let words = ["load", "a.csv", "--group", "proposals", "--url", &url, "--token-file", "token"];
    let began = Instant::now();
    let (code, _, error) = said(&command(&folder, &words).output().unwrap());
    assert_eq!(code, Some(1));
    assert!(error.contains("there is no secure connection: ") && error.contains("certificate"));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // OpenSSL's variable names the certificates of a system that are elsewhere.
    let mut trusting = command(&folder, &words);
    trusting.env("SSL_CERT_FILE", format!("{CERTIFICATES}/ca.pem"));
    let (code, out, error) = said(&trusting.output().unwrap());
    assert_eq!(
        (code, &*out),
        (Some(0), "created 1, replaced 0, unchanged 0, refused 0\n"),
        "{error}"
    );
}
