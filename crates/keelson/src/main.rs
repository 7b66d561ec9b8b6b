//! The `keelson` binary.

use std::process::ExitCode;
use std::time::Duration;

use keelson::assemble::Assembly;
use keelson::banner::{banner, report};
use keelson::command::Command;
use keelson::config::Config;
use keelson::error::Error;
use keelson::start::Prepared;
use keelson::{logging, machine, preflight, signals};
use keelson_object::scalar::quote;
use keelson_stdx::clock::Clock;

/// Trees may be nested as deeply as upstream allows; walking one needs stack, but only while it is walked.
const WORKER_STACK: usize = 16 << 20;

/// How long an idle thread waits for more blocking work. A thread keeps memory for its next allocations, so
/// idle threads end soon.
const IDLE_THREAD: Duration = Duration::from_millis(100);

/// The log level from which on all flags are logged at the start, as upstream does.
const FLAGS_LEVEL: u32 = 1;

/// A write allocates and frees thousands of small nodes on several threads: see
/// docs/decisions/0012-allocator.md.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
        Command::Store { action, config } => {
            logging::start(config.logging);
            print!("{}", runtime()?.block_on(action.run(&config, &Clock::real()))?);
            return Ok(());
        }
        Command::Serve { config, notices } => (config, notices),
    };
    for notice in notices {
        eprintln!("{notice}");
    }
    logging::start(config.logging);
    if config.logging.level >= FLAGS_LEVEL {
        for (name, value) in &config.flags {
            tracing::info!("FLAG: --{name}={}", quote(value));
        }
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    preflight::check(&config)?;
    let clock = Clock::real();
    let prepared = Prepared::new(&config, &environment, &clock)?;
    runtime()?.block_on(serve(&config, &prepared, &clock))
}

fn runtime() -> Result<tokio::runtime::Runtime, Error> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().thread_stack_size(WORKER_STACK).thread_keep_alive(IDLE_THREAD);
    builder.build().map_err(Error::Runtime)
}

async fn serve(config: &Config, prepared: &Prepared, clock: &Clock) -> Result<(), Error> {
    let assembly = Assembly::new(config, prepared, clock).await?;
    let kubeconfig = prepared.write_kubeconfig(assembly.address())?;
    print!("{}", banner(config, assembly.address(), kubeconfig.as_deref()));
    assembly.serve(signals::stop()).await
}
