//! Options of the store, which most commands share.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

const LONGEST_FILE: u64 = 64 * 1024;

/// Name of the systemd credential with the URL, in `CREDENTIALS_DIRECTORY` (systemd.exec(5),
/// `LoadCredential=`).
const CREDENTIAL: &str = "database-url";

#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    pub database_url: Vec<String>,
    /// Limit on connections to PostgreSQL, or on readers of an SQLite file.
    pub database_connections: u32,
}

/// The options as they are written; [`DatabaseOptions`] has what they mean.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Database")]
#[expect(clippy::struct_field_names, reason = "clap names the options after the fields")]
struct DatabaseArguments {
    /// `sqlite://PATH?mode=rwc` or `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; if given several times,
    /// the PostgreSQL server that accepts writes is used
    // Help must not show values from the environment: they contain a password.
    #[arg(
        long,
        env = "PROPOSAL_SERVICE_DATABASE_URL",
        value_name = "URL",
        default_value = "sqlite://data/proposals.db?mode=rwc",
        hide_env_values = true
    )]
    database_url: Vec<String>,
    /// File with one or more URLs, which hides the password from process lists; without it, the
    /// systemd credential `database-url` is used
    #[arg(long, env = "PROPOSAL_SERVICE_DATABASE_URL_FILE", value_name = "PATH")]
    database_url_file: Option<PathBuf>,
    /// Limit on connections to PostgreSQL, or on readers of an SQLite file
    #[arg(long, env = "PROPOSAL_SERVICE_DATABASE_CONNECTIONS", value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    database_connections: u32,
}

impl Args for DatabaseOptions {
    fn augment_args(command: Command) -> Command {
        DatabaseArguments::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        DatabaseArguments::augment_args_for_update(command)
    }
}

impl FromArgMatches for DatabaseOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let written = DatabaseArguments::from_arg_matches(matches)?;
        let credentials = std::env::var_os("CREDENTIALS_DIRECTORY");
        let urls = urls(matches.value_source("database_url"), &written, credentials.as_deref());
        let urls = urls.map_err(|error| clap::Error::raw(ErrorKind::ValueValidation, error))?;
        Ok(Self {
            database_url: urls.unwrap_or(written.database_url),
            database_connections: written.database_connections,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Reads the URLs from the named file, or from the credential if no URL is given.
fn urls(
    url: Option<ValueSource>,
    written: &DatabaseArguments,
    credentials: Option<&OsStr>,
) -> Result<Option<Vec<String>>, String> {
    let is_given = url != Some(ValueSource::DefaultValue);
    match &written.database_url_file {
        Some(_) if is_given => Err(
            "--database-url-file and --database-url (or PROPOSAL_SERVICE_DATABASE_URL) are both given; give one"
                .to_owned(),
        ),
        Some(file) => read(file).map(Some),
        None if is_given => Ok(None),
        None => {
            let credential = credentials.map(|folder| Path::new(folder).join(CREDENTIAL));
            credential.filter(|file| file.exists()).map(|file| read(&file)).transpose()
        }
    }
}

fn read(file: &Path) -> Result<Vec<String>, String> {
    let text = read_bounded(file).map_err(|error| {
        format!(
            "cannot read the database's URL from {} (--database-url-file): {error}",
            file.display()
        )
    })?;
    let urls: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
    if urls.is_empty() {
        return Err(format!(
            "{} is empty; write the database's URL into it, such as postgres://USER:PASSWORD@HOST/DATABASE",
            file.display()
        ));
    }
    Ok(urls)
}

pub fn read_bounded(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let length = File::open(file)?.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    let is_short = u64::try_from(length).is_ok_and(|length| length <= LONGEST_FILE);
    is_short.then_some(text).ok_or_else(|| io::Error::other("it is longer than 64 KiB"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::path::PathBuf;

    use clap::parser::ValueSource::{CommandLine, DefaultValue, EnvVariable};

    use super::{DatabaseArguments, read, urls};

    fn written(database_url_file: Option<PathBuf>) -> DatabaseArguments {
        DatabaseArguments { database_url: vec![], database_url_file, database_connections: 1 }
    }

    #[test]
    fn a_url_that_is_given_comes_before_a_credential_and_excludes_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (none, some) = (folder.path().join("none"), folder.path().join("some"));
        fs::create_dir(&some).unwrap();
        fs::write(some.join("database-url"), "postgres://credential/a\n").unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "postgres://one/a postgres://two/a\n").unwrap();
        let in_credential = Some(vec!["postgres://credential/a".to_owned()]);
        let in_file = Some(vec!["postgres://one/a".to_owned(), "postgres://two/a".to_owned()]);
        for (source, file, credentials, expected) in [
            (DefaultValue, None, None, Ok(None)),
            (DefaultValue, None, Some(&none), Ok(None)),
            (DefaultValue, None, Some(&some), Ok(in_credential)),
            (EnvVariable, None, Some(&some), Ok(None)),
            (DefaultValue, Some(&file), Some(&some), Ok(in_file)),
            (CommandLine, Some(&file), None, Err(())),
            (EnvVariable, Some(&file), None, Err(())),
            (DefaultValue, Some(&none), None, Err(())),
        ] {
            let credentials = credentials.map(|path| OsStr::new(path.as_os_str()));
            let found = urls(Some(source), &written(file.cloned()), credentials);
            assert_eq!(found.map_err(drop), expected, "{source:?} {file:?} {credentials:?}");
        }
    }

    #[test]
    fn a_file_without_a_url_is_refused_without_showing_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        for (content, said) in [
            (" \n".into(), "is empty"),
            (b"postgres://me:secret\xff@host/a".to_vec(), "valid UTF-8"),
            (vec![b'a'; 100_000], "longer than 64 KiB"),
        ] {
            fs::write(&file, content).unwrap();
            let error = read(&file).unwrap_err();
            assert!(error.contains(said) && !error.contains("secret"), "{error}");
        }
        assert!(read(folder.path()).unwrap_err().contains("directory"));
    }
}
