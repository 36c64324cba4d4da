//! `benchmark`: how fast the service is, measured in the same run against a bare poem route and a
//! hand-written axum service; and what more proposals cost it. See `tests::benchmark`.

use std::process::ExitCode;

use clap::Parser;
use tests::benchmark::{Arguments, run};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("benchmark: {error:#}");
            ExitCode::FAILURE
        }
    }
}
