//! `load`: sends a file of items to a running service and reports the result of each row.

use std::env;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use application::table::FORMATS;
use serde_json::Value;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, SendBody};
use url::Url;
use uuid::Uuid;

use crate::commands::error::{CommandError, Result};
use crate::commands::options::{LoadOptions, read_bounded};
use crate::commands::{print, progress};
use crate::failed;

/// Attempts after a broken connection or a busy service. The idempotency key prevents duplicate
/// rows.
const ATTEMPTS: u32 = 5;

/// 409: an earlier attempt with a broken connection may still run.
const BUSY: [u16; 2] = [409, 503];

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

const PAUSE: Duration = Duration::from_secs(1);

const MOST_REPORTED: usize = 50;

const TOKEN: &str = "PROPOSAL_SERVICE_TOKEN";

const BAR: &str = "{bar:40} {bytes}/{total_bytes} sent, {eta} left {next}";

pub fn load(options: &LoadOptions) -> Result<()> {
    let mut headers = vec![
        ("content-type", media_type(&options.file)?.to_owned()),
        ("accept", "application/json".to_owned()),
        ("idempotency-key", format!("\"{}\"", Uuid::new_v4())),
    ];
    let target = target(options)?;
    let token = token(options.token_file.as_deref())?;
    headers.extend(token.map(|token| ("authorization", format!("Bearer {token}"))));
    let agent = agent(&target);
    let mut attempt = 1;
    loop {
        match send(&agent, &target, &headers, &options.file)? {
            Ok((status, answer)) if attempt == ATTEMPTS || !BUSY.contains(&status) => {
                return report(status, &answer, options.dry_run);
            }
            Ok(_) => tracing::warn!("the service is busy; retrying"),
            Err(error) if attempt == ATTEMPTS => {
                return Err(failed(format!("{} does not answer: {error}", options.url)));
            }
            Err(error) => {
                // A service that was reached before may be restarting.
                if let Some(reason) = never_reached(&error).filter(|_| attempt == 1) {
                    return Err(failed(format!("{}: {reason}", options.url)));
                }
                tracing::warn!(%error, "the connection was lost; retrying");
            }
        }
        sleep(PAUSE * attempt);
        attempt += 1;
    }
}

fn media_type(file: &Path) -> Result<&'static str> {
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let known = FORMATS.iter().find(|format| format.extension.eq_ignore_ascii_case(extension));
    known.map(|format| format.media_type).ok_or_else(|| {
        let known: Vec<_> = FORMATS.iter().map(|format| format!(".{}", format.extension)).collect();
        CommandError::Usage(format!(
            "{}: the name of the file must end in {}",
            file.display(),
            known.join(", ")
        ))
    })
}

fn target(options: &LoadOptions) -> Result<Url> {
    let mut target = options.url.clone();
    target
        .path_segments_mut()
        .map_err(|()| CommandError::Usage(format!("{} is not a service URL", options.url)))?
        .pop_if_empty()
        .extend(["imports", &options.group]);
    target
        .query_pairs_mut()
        .append_pair("mode", if options.each { "each" } else { "all" })
        .append_pair("upsert", if options.upsert { "true" } else { "false" })
        .append_pair("dry_run", if options.dry_run { "true" } else { "false" });
    Ok(target)
}

fn token(file: Option<&Path>) -> Result<Option<String>> {
    let (source, text) = match file {
        Some(file) => {
            let source = format!("{} (--token-file)", file.display());
            let text = read_bounded(file);
            let text = text.map_err(|error| {
                CommandError::Usage(format!("cannot read the token from {source}: {error}"))
            })?;
            (source, text)
        }
        None => match env::var_os(TOKEN).filter(|text| !text.is_empty()) {
            Some(text) => (TOKEN.to_owned(), text.into_string().unwrap_or_default()),
            None => return Ok(None),
        },
    };
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(CommandError::Usage(format!(
            "{source} does not contain a token; it must contain only an access token or a key from `keys new`"
        )));
    }
    Ok(Some(token.to_owned()))
}

fn agent(target: &Url) -> Agent {
    let mut roots = Vec::new();
    if target.scheme() == "https" {
        let system = rustls_native_certs::load_native_certs().certs;
        roots.extend(system.iter().map(|it| Certificate::from_der(it).to_owned()));
    }
    let tls = TlsConfig::builder().root_certs(RootCerts::Specific(Arc::new(roots))).build();
    let agent = Agent::config_builder().http_status_as_error(false).tls_config(tls);
    agent.timeout_connect(Some(CONNECT_TIMEOUT)).build().into()
}

/// Returns the reason if a retry cannot succeed.
fn never_reached(error: &ureq::Error) -> Option<String> {
    match error {
        ureq::Error::Io(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
            Some("connection refused; start the service, or give its address with --url".into())
        }
        ureq::Error::Io(cause) if cause.to_string().starts_with("failed to lookup address") => {
            Some("unknown host name; give the service's address with --url".into())
        }
        // TLS error, such as an untrusted certificate.
        ureq::Error::Io(cause) if cause.kind() == io::ErrorKind::InvalidData => {
            Some(format!("cannot establish a secure connection: {cause}"))
        }
        ureq::Error::Rustls(cause) => {
            Some(format!("cannot establish a secure connection: {cause}"))
        }
        _ => None,
    }
}

fn send(
    agent: &Agent,
    target: &Url,
    headers: &[(&str, String)],
    path: &Path,
) -> Result<Result<(u16, String), ureq::Error>> {
    let unreadable = |error| CommandError::Source(path.display().to_string(), error);
    let file = File::open(path).map_err(unreadable)?;
    let length = file.metadata().map_err(unreadable)?.len();
    let bar = progress::bar(Some(length), BAR);
    let request = agent.post(target.as_str()).header("content-length", length.to_string());
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
    let sent = request.send(SendBody::from_owned_reader(bar.wrap_read(file)));
    let answer = sent.and_then(|response| {
        let (status, mut body) = (response.status().as_u16(), response.into_body());
        Ok((status, body.with_config().limit(u64::MAX).read_to_string()?))
    });
    bar.finish_and_clear();
    Ok(answer)
}

fn report(status: u16, answer: &str, is_dry_run: bool) -> Result<()> {
    let answer: Value = serde_json::from_str(answer)
        .map_err(|_| failed(format!("the response (status {status}) is not from this service")))?;
    if status == 200 {
        let count = |name: &str| answer[name].as_u64().unwrap_or_default();
        let if_done = if is_dry_run { "would be " } else { "" };
        let [created, replaced, unchanged, refused] =
            ["created", "replaced", "unchanged", "refused"].map(count);
        print(&format!(
            "{if_done}created {created}, replaced {replaced}, unchanged {unchanged}, refused {refused}\n"
        ))?;
        let rows = answer["rows"].as_array().into_iter().flatten();
        let errors = rows.flat_map(|row| {
            let errors = row["errors"].as_array().into_iter().flatten();
            errors.map(|error| (row["row"].as_u64(), error))
        });
        list(errors)?;
        return match refused {
            0 => Ok(()),
            _ => Err(failed(format!("{refused} rows were refused; the others were loaded"))),
        };
    }
    let errors = answer["errors"].as_array().into_iter().flatten();
    list(errors.map(|error| (error["row"].as_u64(), error)))?;
    let detail = answer["detail"].as_str().unwrap_or("no reason given");
    Err(failed(format!(
        "no row was stored; the service refused the file with status {status}: {detail}"
    )))
}

fn list<'a>(errors: impl Iterator<Item = (Option<u64>, &'a Value)>) -> Result<()> {
    let errors: Vec<_> = errors.collect();
    for (row, error) in errors.iter().take(MOST_REPORTED) {
        let part = |name: &str| error[name].as_str().unwrap_or_default();
        let row = row.map_or_else(String::new, |row| format!("row {row}, "));
        let column = match part("column") {
            "" => String::new(),
            column => format!("{column}: "),
        };
        print(&format!("{row}{column}{} ({})\n", part("detail"), part("code")))?;
    }
    if errors.len() > MOST_REPORTED {
        print(&format!("and {} more errors\n", errors.len() - MOST_REPORTED))?;
    }
    Ok(())
}
