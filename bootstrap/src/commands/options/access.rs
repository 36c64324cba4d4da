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
use super::{DatabaseOptions, ServeOptions};
use crate::commands::error::CommandError;
use crate::commands::quantities::{RequestRate, network, request_rate};

/// Who callers are, and what they may do.
#[derive(Args, Debug)]
#[command(next_help_heading = "Access")]
pub struct AccessOptions {
    /// A file of issuers of access tokens and of keys; read again when it changes, and at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_IDENTITY", value_name = "PATH")]
    pub identity: Option<PathBuf>,
    /// A file of policies, or a folder of them; read again when it changes, and at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_POLICIES", value_name = "PATH")]
    pub policies: Option<PathBuf>,
    /// How fast the requests of one known caller may come, such as 100/s,burst=400 [default: no limit]
    #[arg(long, env = "PROPOSAL_SERVICE_RATE", value_name = "RATE", value_parser = request_rate)]
    pub rate: Option<RequestRate>,
    /// How fast the requests from one address may come, such as 100/s,burst=400 [default: no limit]
    #[arg(long, env = "PROPOSAL_SERVICE_ADDRESS_RATE", value_name = "RATE", value_parser = request_rate)]
    pub address_rate: Option<RequestRate>,
    /// The proxies whose X-Forwarded-For is believed: addresses or networks such as 10.0.0.0/8
    #[arg(long, env = "PROPOSAL_SERVICE_TRUSTED_PROXIES", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    pub trusted_proxies: Vec<IpNet>,
    /// A file to which a line of JSON is added for each request that is refused; opened again at SIGHUP
    #[arg(long, env = "PROPOSAL_SERVICE_AUDIT_LOG", value_name = "PATH")]
    pub audit_log: Option<PathBuf>,
    /// Groups of which the audit log has more: writes or all requests, as in proposals=reads,files=writes
    #[arg(long, env = "PROPOSAL_SERVICE_AUDIT", value_name = "GROUP=LEVEL", value_delimiter = ',', value_parser = audit_level, requires = "audit_log")]
    pub audit: Vec<(Collection, AuditLevel)>,
    /// Serve others than this machine without asking callers who they are
    #[arg(long, env = "PROPOSAL_SERVICE_ALLOW_ANONYMOUS")]
    pub allow_anonymous: bool,
}

impl ServeOptions {
    /// Refuses to serve other machines without authentication, unless the operator insists.
    /// `address` is that of the inherited socket, otherwise `--listen`.
    pub fn require_safe(&self, address: SocketAddr) -> Result<(), CommandError> {
        let AccessOptions { identity, policies, allow_anonymous, .. } = &self.access;
        if identity.is_some() || policies.is_some() {
            return Ok(());
        }
        let is_local = address.ip().is_loopback()
            && self.base_url.as_deref().is_none_or(leads_to_this_machine);
        if !is_local && !allow_anonymous {
            return Err(CommandError::Usage(
                "others than this machine could reach the service, and nobody would be asked who they are: give --identity (or PROPOSAL_SERVICE_IDENTITY), or --allow-anonymous".to_owned(),
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
            "there is no group {group:?}; give GROUP=LEVEL with one of the groups {groups} and one of the levels {levels}"
        ));
    };
    let level = AuditLevel::named(level).ok_or_else(|| {
        format!("there is no level {level:?}; give {group}=LEVEL with one of the levels {levels}")
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
    /// Print a new key, once, and the line that makes it known for the identity file
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
    /// The last day (UTC) on which it is accepted [default: no end]
    #[arg(long, value_name = "DATE")]
    pub expires: Option<Date>,
}

#[derive(Debug, Subcommand)]
pub enum PoliciesCommand {
    /// Read policies, say what each does, and warn of likely mistakes
    Check(CheckOptions),
    /// Run the cases and the matrices that stand beside the policies
    Test(FileOptions),
}

#[derive(Debug, Subcommand)]
pub enum AccessCommand {
    /// Say whether a caller may perform an operation, and which policies decide; exit status 0 if so,
    /// 1 if not
    Check(AccessCheckOptions),
}

/// Options of `access check`.
#[derive(Args, Debug)]
pub struct AccessCheckOptions {
    /// A file of policies, or a folder of them
    #[arg(long, env = "PROPOSAL_SERVICE_POLICIES", value_name = "PATH")]
    pub policies: PathBuf,
    /// A file of JSON with the caller, an object with `id` and `roles`, or the string `anonymous`
    #[arg(long = "as", value_name = "FILE")]
    pub caller: PathBuf,
    /// The operation
    #[arg(long, value_name = "OPERATION", value_parser = PossibleValuesParser::new(Operation::ALL.map(Operation::name)).map(|name| Operation::named(&name).expect("a possible value")))]
    pub operation: Operation,
    /// The group of the items
    #[arg(long, value_name = "GROUP", value_parser = PossibleValuesParser::new(Collection::names()).map(|name| Collection::known(&name)))]
    pub group: Collection,
    /// An item of the group, whose creator is looked up in the database
    #[arg(long, value_name = "ID")]
    pub item: Option<String>,
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
    fn nobody_is_served_unasked_beyond_this_machine_unless_that_is_wanted() {
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
            ("proposals=all", None, "no level \"all\""),
            ("", None, "GROUP=LEVEL"),
        ] {
            match audit_level(text) {
                Ok((_, found)) => assert_eq!(Some(found), level, "{text}"),
                Err(said) => assert!(level.is_none() && said.contains(error), "{text}: {said}"),
            }
        }
    }

    #[test]
    fn a_url_of_this_machine_is_told_from_others() {
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
