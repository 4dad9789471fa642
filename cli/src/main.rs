//! `stockade`: sends orders through the stockade engine from the command line.
//!
//! This file knows the commands and what their exit status means; what they do is in the library beside it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use stockade_cli::{output, replay, stampede};

/// Reserve stock without ever telling two people yes: replay sales, and watch the bug that others have.
#[derive(Parser)]
#[command(name = "stockade", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Replay(Box<replay::Options>),
    Stampede(stampede::Options),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Replay(options) => replay::run(&options),
        Command::Stampede(options) => stampede::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(format_args!("error: {failure}"));
            failure.status()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }
}
