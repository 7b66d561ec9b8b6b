//! `keelson-bench`: load for a running server, and our targets beside what this machine gives.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Arg, ArgMatches, Command, value_parser};
use keelson_bench::lane::Target;
use keelson_bench::load::{Kind, Load, Plan};
use keelson_bench::report::Report;
use keelson_bench::{codec, compare, measure, plain, stall, targets};
use keelson_testkit::{Kubeconfig, Protocol, memory};

fn main() -> ExitCode {
    let matches = command().get_matches();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: no runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = match matches.subcommand() {
        Some(("load", matches)) => runtime.block_on(load(matches)),
        Some(("codec", matches)) => codec::run().and_then(|report| show(matches, &report)),
        Some(("targets", matches)) => runtime.block_on(targets(matches)),
        Some(("stall", matches)) => runtime.block_on(stall(matches)),
        Some(("compare", matches)) => runtime.block_on(compare(matches)),
        Some(("plain", matches)) => runtime.block_on(plain::serve(value(matches, "folder"))),
        _ => unreachable!("clap wants a subcommand"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Command {
    Command::new("keelson-bench")
        .about("Measures Kubernetes API servers on this machine")
        .subcommand_required(true)
        .subcommand(load_command())
        .subcommand(targets_command())
        .subcommand(compare_command())
        .subcommand(stall_command())
        .subcommand(
            Command::new("codec")
                .about("Shows what a pod costs between bytes and tree, as ratios")
                .arg(json_file()),
        )
        .subcommand(
            Command::new("plain")
                .hide(true)
                .arg(Arg::new("folder").required(true).value_parser(value_parser!(PathBuf))),
        )
}

fn load_command() -> Command {
    Command::new("load")
        .about("Creates, reads, lists, updates, watches and deletes objects on a running server")
        .arg(
            Arg::new("kubeconfig")
                .long("kubeconfig")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("How to log in"),
        )
        .arg(Arg::new("server").long("server").help("Address, if not that of the kubeconfig"))
        .arg(
            Arg::new("kind")
                .long("kind")
                .value_parser(["configmaps", "pods"])
                .default_value("pods")
                .help("What is written and read"),
        )
        .arg(Arg::new("protocol").long("protocol").value_parser(["http1", "http2"]).default_value("http1"))
        .arg(number("streams", "8").help("With http2: requests that share a connection"))
        .arg(number("objects", "10000").help("How many objects"))
        .arg(number("size", "7300").help("Bytes of each config map's JSON; a pod is as large as it is"))
        .arg(number("connections", "64").help("Requests under way at the same time"))
        .arg(number("list-connections", "2").help("Lists under way at the same time"))
        .arg(number("seconds", "10").help("How long get, list and update go on"))
        .arg(number("watchers", "200").help("How many watch; 0 leaves the phase out"))
        .arg(number("watched-updates", "500").help("Updates that all watchers see"))
        .arg(number("watched-rate", "0").help("Such updates per second; 0 is as many as possible"))
        .arg(
            Arg::new("pid")
                .long("pid")
                .value_parser(value_parser!(u32))
                .help("The server's process, if it is not the one that listens on the port"),
        )
        .arg(json_file())
}

fn targets_command() -> Command {
    Command::new("targets")
        .about("Starts the server itself and shows our targets beside what was measured")
        .arg(number("objects", "10000").help("How many pods"))
        .arg(number("connections", "64").help("Requests under way at the same time"))
        .arg(number("seconds", "4").help("How long each round of get and list goes on"))
        .arg(number("rounds", "3").help("Rounds, in turns with the plain server"))
        .arg(folder())
        .arg(json_file())
}

fn compare_command() -> Command {
    Command::new("compare")
        .about("Starts etcd, then kube-apiserver and the server itself on it, and shows both under the same load")
        .arg(number("objects", "10000").help("How many pods"))
        .arg(
            Arg::new("connections")
                .long("connections")
                .value_parser(value_parser!(usize))
                .value_delimiter(',')
                .default_value("64,16,1")
                .help("Requests under way at the same time, one load each"),
        )
        .arg(number("seconds", "4").help("How long get, list and update go on"))
        .arg(folder())
        .arg(json_file())
}

fn stall_command() -> Command {
    Command::new("stall")
        .about("Starts the server itself and shows how long a health check takes beside large requests")
        .arg(number("objects", "10000").help("How many config maps are listed"))
        .arg(number("size", "1000").help("Bytes of each config map's JSON"))
        .arg(number("connections", "16").help("Large requests under way at the same time"))
        .arg(folder())
        .arg(json_file())
}

fn folder() -> Arg {
    Arg::new("folder")
        .long("folder")
        .value_parser(value_parser!(PathBuf))
        .help("Where the data lies; must be a real disk [default: the folder for temporary files]")
}

fn number(name: &'static str, default: &'static str) -> Arg {
    Arg::new(name).long(name).value_parser(value_parser!(usize)).default_value(default)
}

fn json_file() -> Arg {
    Arg::new("json")
        .long("json")
        .value_parser(value_parser!(PathBuf))
        .help("Also write the result to this file")
}

async fn load(matches: &ArgMatches) -> Result<()> {
    let kubeconfig = Kubeconfig::load(&value::<PathBuf>(matches, "kubeconfig"))?;
    let server = matches.get_one::<String>("server").unwrap_or(&kubeconfig.server);
    let protocol = match value::<String>(matches, "protocol").as_str() {
        "http2" => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let plan = Plan {
        kind: match value::<String>(matches, "kind").as_str() {
            "configmaps" => Kind::ConfigMaps,
            _ => Kind::Pods,
        },
        objects: count(matches, "objects").max(1),
        size: count(matches, "size"),
        lanes: count(matches, "connections").max(1),
        streams: count(matches, "streams"),
        list_lanes: count(matches, "list-connections"),
        time: seconds(matches),
        watchers: count(matches, "watchers"),
        watched_updates: count(matches, "watched-updates"),
        watched_rate: count(matches, "watched-rate"),
    };
    let port = server.rsplit_once(':').and_then(|(_, port)| port.trim_end_matches('/').parse().ok());
    let pid = matches.get_one::<u32>("pid").copied().or_else(|| memory::listener(port?));
    let target = Target::new(server, &kubeconfig.credentials, protocol)?;
    let phases = Load::prepare(target, plan, pid).await?.run().await?;
    print!("{}", measure::table(&phases));
    write_json(matches, &measure::json(&phases))
}

async fn targets(matches: &ArgMatches) -> Result<()> {
    let settings = targets::Settings {
        objects: count(matches, "objects").max(1),
        lanes: count(matches, "connections").max(1),
        time: seconds(matches),
        rounds: count(matches, "rounds").max(1),
        folder: folder_of(matches),
    };
    show(matches, &targets::run(&settings).await?)
}

async fn stall(matches: &ArgMatches) -> Result<()> {
    let settings = stall::Settings {
        objects: count(matches, "objects"),
        size: count(matches, "size"),
        lanes: count(matches, "connections").max(1),
        folder: folder_of(matches),
    };
    show(matches, &stall::run(&settings).await?)
}

async fn compare(matches: &ArgMatches) -> Result<()> {
    let settings = compare::Settings {
        objects: count(matches, "objects").max(1),
        lanes: matches.get_many("connections").expect("it has a default").copied().collect(),
        time: seconds(matches),
        folder: folder_of(matches),
    };
    let comparison = compare::run(&settings).await?;
    print!("{}", comparison.table());
    write_json(matches, &comparison.json())
}

fn folder_of(matches: &ArgMatches) -> PathBuf {
    matches.get_one::<PathBuf>("folder").cloned().unwrap_or_else(std::env::temp_dir)
}

fn show(matches: &ArgMatches, report: &Report) -> Result<()> {
    print!("{}", report.table());
    write_json(matches, &report.json())
}

fn write_json(matches: &ArgMatches, value: &serde_json::Value) -> Result<()> {
    let Some(path) = matches.get_one::<PathBuf>("json") else {
        return Ok(());
    };
    write(path, &format!("{value:#}\n"))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn value<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, name: &str) -> T {
    matches.get_one::<T>(name).expect("it is required or has a default").clone()
}

fn count(matches: &ArgMatches, name: &str) -> usize {
    value(matches, name)
}

fn seconds(matches: &ArgMatches) -> Duration {
    Duration::from_secs(count(matches, "seconds") as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
