//! Keelson with a command line: in this process if possible, otherwise as a separate process.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::process::{Command as Process, Stdio};

use keelson::banner::report;
use keelson::command::Command;
use keelson::config::Environment;

use crate::cases::{Case, Outcome};
use crate::fixture::{Fixture, free_port, lost_its_port};

/// The number of ports that are tried.
const TRIES: usize = 5;

/// Keelson's result of a case.
pub(crate) fn ask(case: &Case, fixture: &Fixture) -> Outcome {
    let mut outcome = ask_once(case, fixture);
    for _ in 1..TRIES {
        if !lost_its_port(&outcome) {
            break;
        }
        outcome = ask_once(case, fixture);
    }
    outcome
}

fn ask_once(case: &Case, fixture: &Fixture) -> Outcome {
    let words = case.words(&fixture.folder());
    let port = free_port();
    let mut arguments = fixture.required(&words, port);
    arguments.extend(words);
    let line = std::iter::once("kube-apiserver").chain(arguments.iter().map(String::as_str));
    let line = line.map(OsString::from).collect();
    let environment = Environment { addresses: vec![[10, 9, 8, 7].into()], ..Environment::default() };
    match Command::read(line, &environment, None) {
        Err(error) => Outcome::Ends { code: 1, text: fixture.normalised(&report(&error), port) },
        Ok(Command::Print(text)) => {
            let line = text.lines().next().unwrap_or_default();
            Outcome::Ends { code: 0, text: fixture.normalised(line, port) }
        }
        Ok(_) if case.outcome == Outcome::Starts && !case.arguments.contains("$DIR") => Outcome::Starts,
        Ok(_) => run(&arguments, fixture, port),
    }
}

/// Files and addresses are only checked by a server that starts.
fn run(arguments: &[String], fixture: &Fixture, port: u16) -> Outcome {
    let mut process = Process::new(env!("CARGO_BIN_EXE_keelson"))
        .args(["kube-apiserver", "--store=memory"])
        .arg(format!("--data-dir={}/data-{port}", fixture.folder()))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("keelson runs");
    let stdout = process.stdout.take().expect("it is piped");
    let starts =
        BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line.contains(" serves at "));
    if starts {
        process.kill().expect("it can be ended");
    }
    let output = process.wait_with_output().expect("it ends");
    if starts { Outcome::Starts } else { fixture.ended(&output, port) }
}
