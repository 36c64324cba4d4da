//! `load`: sends a file of items to a running service.

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::tool::done;
use tests::{Request, Service, Store, free_address};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::{command, folder_with, refused, result};

const CERTIFICATES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../adapters/identity/tests/identity/certificates");

const CREATED: &str = "created 1, replaced 0, unchanged 0, refused 0\n";

fn load(folder: &TempDir, url: &str, name: &str, options: &[&str]) -> Command {
    let arguments = [&["load", name, "--group", "proposals", "--url", url], options].concat();
    command(folder, &arguments)
}

#[test]
fn a_load_fails_immediately_without_a_listener() {
    let folder = folder_with(&[("a.csv", "project_title,proposal_type\nA,B\n")]);
    let unused = format!("http://{}", free_address());
    for (url, reason) in [
        (unused.as_str(), "connection refused; start the service, or give its address with --url"),
        ("http://no-such-host.invalid", "unknown host name"),
    ] {
        let began = Instant::now();
        let line = refused(&load(&folder, url, "a.csv", &[]).output().unwrap(), 1);
        assert!(line.starts_with(&format!("proposal-service: {url}/: {reason}")), "{line}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}

#[test]
fn files_are_loaded_into_a_service_with_keys() {
    let runtime = Runtime::new().unwrap();
    for store in [Store::Sqlite, Store::Postgres] {
        let loader = Loader::start(store);
        loader.loads_checks_and_changes();
        loader.lists_refused_rows();
        loader.sends_the_token_of_a_file_or_of_the_environment();
        loader.trusts_the_certificates_of_the_system_only(&secured(&runtime, &loader.service));
    }
}

/// A service with one key, and files of proposals.
struct Loader {
    folder: TempDir,
    service: Service,
    url: String,
    key: String,
}

impl Loader {
    fn start(store: Store) -> Self {
        let printed = String::from_utf8(done(&["keys", "new", "loader"])).unwrap();
        let (key, line) = printed.trim_end().split_once('\n').unwrap();
        let folder = folder_with(&[
            ("a.csv", "project_title,proposal_type\nA,B\n"),
            ("two.csv", "project_title,proposal_type\nA,B\nC,D\n"),
            ("x.ndjson", "{\"project_title\":\"A\",\"proposal_type\":\"B\"}\n{}\n"),
            ("identity.yaml", &format!("keys:\n{line}\n")),
            ("token", &format!("{key}\n")),
        ]);
        let identity = folder.path().join("identity.yaml");
        let service = Service::start_with(store, &["--identity", identity.to_str().unwrap()]);
        let url = format!("http://{}", service.address());
        Self { folder, service, url, key: key.to_owned() }
    }

    fn load(&self, name: &str, options: &[&str]) -> (Option<i32>, String, String) {
        let options = [&["--token-file", "token"], options].concat();
        result(&mut load(&self.folder, &self.url, name, &options))
    }

    fn get(&self, target: &str) -> Request {
        self.service.get(target).header("authorization", format!("Bearer {}", self.key))
    }

    fn loads_checks_and_changes(&self) {
        let done = |name, option: &[&str]| {
            let (code, out, error) = self.load(name, option);
            assert_eq!(code, Some(0), "{error}");
            out
        };
        assert_eq!(
            done("two.csv", &["--dry-run"]),
            "would be created 2, replaced 0, unchanged 0, refused 0\n"
        );
        assert_eq!(done("two.csv", &[]), "created 2, replaced 0, unchanged 0, refused 0\n");
        let exported = self.get("/exports/proposals.csv").accept("*/*").send().expect(200);
        let changed = exported.text().replace(",A,", ",Z,");
        std::fs::write(self.folder.path().join("changed.csv"), changed).unwrap();
        assert_eq!(
            done("changed.csv", &["--upsert"]),
            "created 0, replaced 1, unchanged 1, refused 0\n"
        );
        let titles = self.get("/v1/proposals").send().expect(200).each("project_title");
        assert_eq!(titles, ["Z", "C"]);
    }

    fn lists_refused_rows(&self) {
        for (options, listed, said) in [
            (
                &[][..],
                "row 2, proposal_type: `proposal_type` is required",
                "no row was stored; the service refused the file with status 422",
            ),
            (
                &["--each"],
                "created 1, replaced 0, unchanged 0, refused 1\nrow 2, ",
                "1 rows were refused; the others were loaded\n",
            ),
        ] {
            let (code, out, error) = self.load("x.ndjson", options);
            assert_eq!(code, Some(1));
            assert!(out.starts_with(listed), "{out}");
            assert!(error.contains(said), "{error}");
        }
    }

    fn sends_the_token_of_a_file_or_of_the_environment(&self) {
        let (code, _, error) = result(&mut load(&self.folder, &self.url, "a.csv", &[]));
        assert!(code == Some(1) && error.contains("status 401"), "{error}");
        let by_environment = |token: &str, file: &[&str]| {
            let options = if file.is_empty() { &[][..] } else { &["--token-file", file[0]] };
            let mut load = load(&self.folder, &self.url, "a.csv", options);
            result(load.env("PROPOSAL_SERVICE_TOKEN", token))
        };
        assert_eq!(by_environment(&self.key, &[]).1, CREATED);
        assert_eq!(by_environment("wrong", &["token"]).1, CREATED);
        let changes = self.get("/v1/changes").send().expect(200).embedded("changes");
        assert_eq!(changes.iter().filter(|it| it["caller"] == "key:loader").count(), 6);
        for (token, file, reason) in [
            ("two words", &[][..], "PROPOSAL_SERVICE_TOKEN does not contain a token"),
            ("", &["a.csv"], "a.csv (--token-file) does not contain a token"),
            ("", &["missing"], "cannot read the token from missing (--token-file)"),
        ] {
            let (code, _, error) = by_environment(token, file);
            assert_eq!(code, Some(2));
            assert!(error.contains(reason) && !error.contains("two words"), "{error}");
        }
    }

    fn trusts_the_certificates_of_the_system_only(&self, url: &str) {
        let mut load = load(&self.folder, url, "a.csv", &["--token-file", "token"]);
        let began = Instant::now();
        let (code, _, error) = result(&mut load);
        assert_eq!(code, Some(1));
        let is_named = error.contains("cannot establish a secure connection: ");
        assert!(is_named && error.contains("certificate"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        // OpenSSL's variable names the certificates of the system.
        let (code, out, error) =
            result(load.env("SSL_CERT_FILE", format!("{CERTIFICATES}/ca.pem")));
        assert_eq!((code, &*out), (Some(0), CREATED), "{error}");
    }
}

/// Adds a TLS proxy with a certificate of an unknown authority, and returns its URL.
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
