//! Options of access control: for `serve`, and for commands on keys and policies.

use std::net::SocketAddr;
use std::path::PathBuf;

use application::AuditLevel;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use domain::{Collection, Operation};
use ipnet::IpNet;
use jiff::civil::Date;
use url::{Host, Url};

use super::files::{CheckOptions, FileOptions, TimeZoneOptions};
use super::{DatabaseOptions, EntryFormat, ServeOptions};
use crate::commands::error::{CommandError, Result};
use crate::commands::quantities::{RequestRate, network, request_rate};

/// Who callers are, and what they may do.
#[derive(Args, Debug)]
#[command(next_help_heading = "Access")]
pub struct AccessOptions {
    /// File of access token issuers and keys; reloaded when it changes and at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_IDENTITY", value_name = "PATH")]
    pub identity: Option<PathBuf>,
    /// File or folder of policies; reloaded when it changes and at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_POLICIES", value_name = "PATH")]
    pub policies: Option<PathBuf>,
    /// Rate limit per known caller, such as 100/s,burst=400 [default: no limit]
    #[arg(long, env = "PROPOSAL_SERVICE_RATE", value_name = "RATE", value_parser = request_rate)]
    pub rate: Option<RequestRate>,
    /// Rate limit per IP address, such as 100/s,burst=400 [default: no limit]
    #[arg(long, env = "PROPOSAL_SERVICE_ADDRESS_RATE", value_name = "RATE", value_parser = request_rate)]
    pub address_rate: Option<RequestRate>,
    /// Trusted proxies, whose X-Forwarded-For is used: addresses or networks such as 10.0.0.0/8
    #[arg(long, env = "PROPOSAL_SERVICE_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    pub trusted_proxies: Vec<IpNet>,
    /// File for the audit log: one JSON line for each refused request; reopened at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_AUDIT_LOG", value_name = "PATH")]
    pub audit_log: Option<PathBuf>,
    /// Groups to audit in full: `writes`, or `reads` for all requests, as in proposals=reads,files=writes
    #[arg(long, env = "PROPOSAL_SERVICE_AUDIT", value_name = "GROUP=LEVEL", value_delimiter = ',', value_parser = audit_level, requires = "audit_log")]
    pub audit: Vec<(Collection, AuditLevel)>,
    /// Allow other machines to use the service without sign-in
    #[arg(long, env = "PROPOSAL_SERVICE_ALLOW_ANONYMOUS")]
    pub allow_anonymous: bool,
}

impl ServeOptions {
    /// Refuses to serve other machines without authentication, unless the operator insists.
    /// `address` is that of the inherited socket, otherwise `--listen`.
    pub fn require_safe(&self, address: SocketAddr) -> Result<()> {
        let AccessOptions { identity, policies, allow_anonymous, .. } = &self.access;
        if identity.is_some() || policies.is_some() {
            return Ok(());
        }
        let is_local = address.ip().is_loopback()
            && self.base_url.as_deref().is_none_or(leads_to_this_machine);
        if !is_local && !allow_anonymous {
            return Err(CommandError::Usage(
                "other machines could use the service without sign-in: give --identity (or PROPOSAL_SERVICE_IDENTITY), or --allow-anonymous".to_owned(),
            ));
        }
        Ok(())
    }
}

fn audit_level(text: &str) -> Result<(Collection, AuditLevel), String> {
    let (group, level) = text.split_once('=').unwrap_or((text, ""));
    let levels = AuditLevel::ALL.map(AuditLevel::name).join(", ");
    let Some(collection) = Collection::named(group) else {
        let groups = Collection::names().join(", ");
        return Err(format!(
            "unknown group {group:?}; give GROUP=LEVEL with one of the groups {groups} and one of the levels {levels}"
        ));
    };
    let level = AuditLevel::named(level).ok_or_else(|| {
        format!("unknown level {level:?}; give {group}=LEVEL with one of the levels {levels}")
    })?;
    Ok((collection, level))
}

/// Returns whether a base URL is local. An invalid URL is reported at its use.
fn leads_to_this_machine(base_url: &str) -> bool {
    let Ok(url) = Url::parse(base_url) else { return true };
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => true,
    }
}

#[derive(Debug, Subcommand)]
pub enum KeysCommand {
    /// Print a new key once, with its line for the identity file
    New(NewKeyOptions),
}

/// Options of `keys new`.
#[derive(Args, Debug)]
pub struct NewKeyOptions {
    /// The name of the key, such as `nightly-export`: its caller is `key:nightly-export`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The roles of its caller
    #[arg(long, value_name = "ROLES", value_delimiter = ',')]
    pub roles: Vec<String>,
    /// The last day (UTC) on which the key is valid [default: no end]
    #[arg(long, value_name = "DATE")]
    pub expires: Option<Date>,
}

#[derive(Debug, Subcommand)]
pub enum PoliciesCommand {
    /// Check policies, explain each one, and warn of likely mistakes
    Check(CheckOptions),
    /// Run the test cases and matrices of the policies
    Test(FileOptions),
    /// List the stored items and members that other policies would show to a role, or hide from it.
    /// Read-only, and safe while the service runs
    Diff(PolicyDiffOptions),
}

/// Options of `policies diff`.
#[derive(Args, Debug)]
pub struct PolicyDiffOptions {
    /// The policies in force: a file, or a folder of files
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The policies to compare: a file, or a folder of files
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// JSON file with a caller to compare for, instead of each role of the policies
    #[arg(long = "as", value_name = "FILE")]
    pub caller: Option<PathBuf>,
    /// Output format of the entries, one for each item or member
    #[arg(long = "format", value_name = "FORMAT", value_enum, default_value_t = EntryFormat::Plain)]
    pub output: EntryFormat,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
    /// Where days begin.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
}

#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// Show whether a caller may perform an operation, and which policies decide; exit status 0 if
    /// allowed, 1 if not
    Check(AccessCheckOptions),
    /// List the stored items of a group that a caller sees, with the members that are hidden.
    /// Read-only, and safe while the service runs
    List(AccessListOptions),
}

/// Options of `access check`.
#[derive(Args, Debug)]
pub struct AccessCheckOptions {
    /// The operation
    #[arg(long, value_name = "OPERATION", value_parser = PossibleValuesParser::new(Operation::ALL.map(Operation::name)).map(|name| Operation::named(&name).expect("a possible value")))]
    pub operation: Operation,
    /// An item of the group, which is read from the database
    #[arg(long, value_name = "ID")]
    pub item: Option<String>,
    /// The caller, the policies and the group.
    #[command(flatten)]
    pub access: CallerAccessOptions,
}

/// Options of `access list`.
#[derive(Args, Debug)]
pub struct AccessListOptions {
    /// Output format of the entries, one for each item
    #[arg(long = "format", value_name = "FORMAT", value_enum, default_value_t = EntryFormat::Plain)]
    pub output: EntryFormat,
    /// The caller, the policies and the group.
    #[command(flatten)]
    pub access: CallerAccessOptions,
}

/// The access of a caller to a group, by policies in files.
#[derive(Args, Debug)]
pub struct CallerAccessOptions {
    /// File or folder of policies
    #[arg(long, env = "PROPOSAL_SERVICE_POLICIES", value_name = "PATH")]
    pub policies: PathBuf,
    /// JSON file with the caller: an object with `id`, `roles` and attributes, or the string `anonymous`
    #[arg(long = "as", value_name = "FILE")]
    pub caller: PathBuf,
    /// The group of the items
    #[arg(long, value_name = "GROUP", value_parser = PossibleValuesParser::new(Collection::names()).map(|name| Collection::known(&name)))]
    pub group: Collection,
    /// The database.
    #[command(flatten)]
    pub database: DatabaseOptions,
    /// Where days begin.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
}

#[cfg(test)]
mod tests {
    use application::AuditLevel;
    use clap::Parser as _;

    use super::{audit_level, leads_to_this_machine};
    use crate::commands::options::CommandLine;

    #[test]
    fn anonymous_access_from_other_machines_needs_an_option() {
        for (options, is_started) in [
            ("", true),
            ("--listen [::1]:0", true),
            ("--listen 127.0.0.1:0 --base-url http://localhost:8080/api", true),
            ("--listen 0.0.0.0:0", false),
            ("--listen 192.0.2.1:80 --base-url http://localhost", false),
            ("--base-url https://proposals.example.org", false),
            ("--demo --listen 0.0.0.0:0", false),
            ("--listen 0.0.0.0:0 --allow-anonymous", true),
            ("--base-url https://proposals.example.org --identity a.yaml", true),
            ("--listen 0.0.0.0:0 --policies a.yaml", true),
        ] {
            let words = ["p"].into_iter().chain(options.split_whitespace());
            let said = CommandLine::try_parse_from(words).unwrap();
            assert_eq!(said.serve.require_safe(said.serve.listen).is_ok(), is_started, "{options}");
        }
    }

    #[test]
    fn groups_have_levels() {
        for (text, level, error) in [
            ("proposals=denied", Some(AuditLevel::Denied), ""),
            ("proposals=writes", Some(AuditLevel::Writes), ""),
            ("lib=reads", Some(AuditLevel::Reads), ""),
            ("proposal=reads", None, "one of the groups"),
            ("proposals", None, "one of the levels denied, writes, reads"),
            ("proposals=all", None, "unknown level \"all\""),
            ("", None, "GROUP=LEVEL"),
        ] {
            match audit_level(text) {
                Ok((_, found)) => assert_eq!(Some(found), level, "{text}"),
                Err(said) => assert!(level.is_none() && said.contains(error), "{text}: {said}"),
            }
        }
    }

    #[test]
    fn urls_of_this_machine_are_recognized() {
        for (url, is_local) in [
            ("http://127.0.0.1:8080", true),
            ("http://127.8.9.1", true),
            ("http://[::1]:8080", true),
            ("http://LocalHost:1/a", true),
            ("http://localhost.example.org", false),
            ("https://proposals.example.org", false),
            ("http://10.0.0.1:8080", false),
            ("http://0.0.0.0:8080", false),
            ("http://[::]:8080", false),
        ] {
            assert_eq!(leads_to_this_machine(url), is_local, "{url}");
        }
    }
}
