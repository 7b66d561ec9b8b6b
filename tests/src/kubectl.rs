//! The real kubectl against a place.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use keelson_testkit::tool::Tool;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::Place;

/// Longer than any command that ends.
const PATIENCE: Duration = Duration::from_secs(60);

/// kubectl for the administrator in the place's namespace.
pub struct Kubectl {
    program: PathBuf,
    place: Place,
}

/// The output of a command.
#[derive(Debug)]
pub struct Said {
    /// Whether its exit code was 0.
    pub success: bool,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

/// A command that runs until it is dropped.
pub struct Running {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Kubectl {
    /// A namespace and a kubectl, or a note that `test` cannot run.
    pub async fn for_test(test: &str) -> Option<Kubectl> {
        let program = Tool::Kubectl.path_for(test)?;
        let place = Place::new(&test.replace('_', "-").chars().take(60).collect::<String>()).await;
        Some(Kubectl { program, place })
    }

    /// The namespace and server that it uses.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// A file with a manifest.
    pub fn manifest(&self, name: &str, text: &str) -> String {
        let path = self.place.server.scratch().join(format!("{}-{name}", self.place.namespace));
        std::fs::write(&path, text).expect("a scratch file");
        path.display().to_string()
    }

    /// Runs a command, its arguments separated by spaces, and returns all its output.
    pub async fn run(&self, arguments: &str) -> Said {
        finish(&mut self.command(arguments), arguments).await
    }

    /// Runs a command that must succeed, and returns its output.
    pub async fn ok(&self, arguments: &str) -> String {
        let said = self.run(arguments).await;
        assert!(said.success, "kubectl {arguments}: {said:?}");
        said.stdout
    }

    /// Runs a command that must fail, and returns its error output.
    pub async fn fails(&self, arguments: &str) -> String {
        let said = self.run(arguments).await;
        assert!(!said.success, "kubectl {arguments}: {said:?}");
        said.stderr
    }

    /// Runs `kubectl` with arguments that may contain spaces and must succeed, and returns its output.
    pub async fn ok_args(&self, arguments: &[&str]) -> String {
        let mut command = self.command("");
        let said = finish(command.args(arguments), &arguments.join(" ")).await;
        assert!(said.success, "kubectl {arguments:?}: {said:?}");
        said.stdout
    }

    /// Runs a command that opens an editor, which is a shell script that gets the file as `$1`.
    pub async fn edits(&self, arguments: &str, script: &str) -> Said {
        let editor = self.manifest("editor.sh", script);
        finish(self.command(arguments).env("KUBE_EDITOR", format!("sh {editor}")), arguments).await
    }

    /// Starts a command that runs until it is stopped.
    pub fn start(&self, arguments: &str) -> Running {
        let mut command = self.command(arguments);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("kubectl runs");
        let stdout = child.stdout.take().expect("it is piped");
        Running { lines: BufReader::new(stdout).lines(), _child: child }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(&self.program);
        let scratch = self.place.server.scratch();
        command
            .arg("--kubeconfig")
            .arg(self.place.server.kubeconfig())
            .arg("--cache-dir")
            .arg(scratch.join("kubectl-cache"))
            .args(["--namespace", &self.place.namespace])
            .args(arguments.split_whitespace())
            .env("HOME", scratch)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        command
    }
}

impl Running {
    /// The next line it prints.
    pub async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await;
        let line = line.expect("kubectl prints a line in time").expect("its output can be read");
        line.expect("kubectl goes on")
    }
}

async fn finish(command: &mut Command, arguments: &str) -> Said {
    let output = timeout(PATIENCE, command.output()).await;
    let output = output.unwrap_or_else(|_| panic!("kubectl {arguments} does not end"));
    let output = output.expect("kubectl runs");
    Said {
        success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The lines of a table without the header, as words.
pub fn rows(table: &str) -> Vec<Vec<&str>> {
    table.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
}
