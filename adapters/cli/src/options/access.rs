//! Options of the commands about policies.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::{Collection, Operation};

use super::files::{CheckOptions, FileOptions, TimeZoneOptions};

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
    #[arg(long, value_name = "OPERATION", value_parser = PossibleValuesParser::new(Operation::ALL.map(Operation::name)))]
    pub operation: String,
    /// The group of the items
    #[arg(long, value_name = "GROUP", value_parser = PossibleValuesParser::new(Collection::names()))]
    pub group: String,
    /// Where days begin.
    #[command(flatten)]
    pub time_zone: TimeZoneOptions,
}
