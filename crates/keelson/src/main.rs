//! The `keelson` binary.

use std::process::ExitCode;

use keelson::banner::{banner, report};
use keelson::command::Command;
use keelson::error::Error;
use keelson::start::Prepared;
use keelson::{logging, machine};
use keelson_stdx::clock::Clock;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", report(&error));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Error> {
    let environment = machine::environment();
    let command_line = std::env::args_os().collect();
    let (config, notices) = match Command::read(command_line, &environment, machine::terminal_columns())? {
        Command::Print(text) => {
            print!("{text}");
            return Ok(());
        }
        Command::Serve { config, notices } => (config, notices),
    };
    for notice in notices {
        eprintln!("{notice}");
    }
    logging::start(config.logging);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let prepared = Prepared::new(&config, &environment, &Clock::real())?;
    let kubeconfig = prepared.write_kubeconfig(config.socket_address())?;
    print!("{}", banner(&config, config.socket_address(), kubeconfig.as_deref()));
    Ok(())
}
