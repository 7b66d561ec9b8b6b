//! Command line: prints a text, runs a server, or runs a store command.

use std::ffi::OsString;

use crate::config::{self, Config, Environment};
use crate::error::Error;
use crate::flags::{Face, VersionWish, help, parse};
use crate::store_command::{self, Action};
use crate::{KEELSON_VERSION, KUBERNETES_VERSION};

/// The action of a command line.
#[derive(Debug)]
pub enum Command {
    /// Print this and exit successfully.
    Print(String),
    /// Run a server.
    Serve {
        /// The config.
        config: Box<Config>,
        /// Notices to print first, in upstream's words.
        notices: Vec<String>,
    },
    /// Run a command on the store as a whole.
    Store {
        /// The command.
        action: Action,
        /// The config.
        config: Box<Config>,
    },
}

impl Command {
    /// Parses a whole command line, beginning with the name of the program. `columns` is the width of the
    /// terminal.
    pub fn read(
        command_line: Vec<OsString>,
        environment: &Environment,
        columns: Option<usize>,
    ) -> Result<Command, Error> {
        let (face, mut arguments) = Face::of(command_line);
        if face == Face::Standalone && arguments.first().is_some_and(|it| it == "store") {
            arguments.remove(0);
            return Command::store(&texts(arguments)?, environment);
        }
        let flags = parse(face, &texts(arguments)?)?;
        if flags.is_on("help") {
            return Ok(Command::Print(help(face, columns)));
        }
        if !flags.arguments().iter().all(String::is_empty) {
            return Err(Error::Arguments { program: face.program(), arguments: flags.arguments().to_vec() });
        }
        config::features(&flags)?;
        match flags.version("version") {
            VersionWish::No | VersionWish::Report(_) => (),
            VersionWish::Short => return Ok(Command::Print(format!("{}\n", short_version(face)))),
            VersionWish::Raw => return Ok(Command::Print(format!("{}\n", raw_version()))),
        }
        let config = Box::new(Config::new(&flags, environment)?);
        Ok(Command::Serve { config, notices: flags.notices().to_vec() })
    }

    fn store(arguments: &[String], environment: &Environment) -> Result<Command, Error> {
        let flags = parse(Face::Standalone, arguments)?;
        if flags.is_on("help") {
            return Ok(Command::Print(store_command::USAGE.to_owned()));
        }
        let action = Action::read(flags.arguments())?;
        Ok(Command::Store { action, config: Box::new(Config::new(&flags, environment)?) })
    }
}

/// The output of `--version`.
#[must_use]
pub fn short_version(face: Face) -> String {
    match face {
        Face::KubeApiserver => format!("Kubernetes {KUBERNETES_VERSION}"),
        Face::Standalone => format!("Keelson {KEELSON_VERSION} (Kubernetes {KUBERNETES_VERSION})"),
    }
}

/// The output of `--version=raw`: the form is upstream's, which does not know the emulated version at that
/// point.
fn raw_version() -> String {
    let version = keelson_server::Version::KUBERNETES;
    format!(
        "version.Info{{Major:\"{}\", Minor:\"{}\", EmulationMajor:\"\", EmulationMinor:\"\", MinCompatibilityMajor:\"\", \
         MinCompatibilityMinor:\"\", GitVersion:\"{}\", GitCommit:\"{}\", GitTreeState:\"{}\", BuildDate:\"{}\", \
         GoVersion:\"{}\", Compiler:\"{}\", Platform:\"{}\"}}",
        version.major,
        version.minor,
        version.git_version,
        version.git_commit,
        version.git_tree_state,
        version.build_date,
        version.go_version,
        version.compiler,
        version.platform,
    )
}

fn texts(arguments: Vec<OsString>) -> Result<Vec<String>, Error> {
    let text = |argument: OsString| {
        argument
            .into_string()
            .map_err(|argument| Error::NotText { argument: argument.to_string_lossy().into_owned() })
    };
    arguments.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::Command;
    use crate::banner::report;
    use crate::config::Environment;

    /// The output, on either stream.
    fn answer(command_line: &str) -> String {
        let words = command_line.split_whitespace().map(OsString::from).collect();
        let environment = Environment { home: Some("/srv/jane".into()), ..Environment::default() };
        match Command::read(words, &environment, None) {
            Ok(Command::Print(text)) => text,
            Ok(Command::Serve { config, .. }) => format!("serve as {}", config.face.program()),
            Ok(Command::Store { action, config }) => format!("{action:?} of {}", config.data_dir.display()),
            Err(error) => report(&error),
        }
    }

    #[track_caller]
    fn check(command_line: &str, expected: &str) {
        assert_eq!(answer(command_line), expected);
    }

    #[test]
    fn the_binary_has_two_faces() {
        let required = "--etcd-servers=http://127.0.0.1:2379 --service-account-issuer=a \
                        --service-account-key-file=b --service-account-signing-key-file=c";
        check("keelson", "serve as keelson");
        check("/usr/bin/keelson --secure-port=7443", "serve as keelson");
        check(&format!("/usr/local/bin/kube-apiserver {required}"), "serve as kube-apiserver");
        check(&format!("keelson kube-apiserver {required}"), "serve as kube-apiserver");
    }

    #[test]
    fn the_store_has_commands_of_its_own() {
        check("keelson store export a --data-dir=/x", "Export(\"a\") of /x");
        check("keelson store --data-dir /x check", "Check(None) of /x");
        assert!(answer("keelson store -h").starts_with("Usage:\n  keelson store snapshot FILE"));
        for (words, problem) in [
            ("", "Error: store needs a command\n"),
            ("snapshot", "Error: snapshot needs a file\n"),
            ("import a b", "Error: import takes one file\n"),
            ("delete", "Error: store has no command \"delete\"\n"),
        ] {
            let said = answer(&format!("keelson store {words}"));
            assert!(said.starts_with(problem), "{said}");
        }
    }

    #[test]
    fn each_face_tells_its_version() {
        check("keelson --version", "Keelson 0.1.0 (Kubernetes v1.36.4)\n");
        check("kube-apiserver --version", "Kubernetes v1.36.4\n");
        check("keelson kube-apiserver --version=true", "Kubernetes v1.36.4\n");
        assert!(answer("kube-apiserver --version=raw").contains("GitVersion:\"v1.36.4\""));
    }

    #[test]
    fn help_comes_after_flag_errors_and_before_all_others() {
        assert!(answer("kube-apiserver --help").contains("\nUsage:\n  kube-apiserver [flags]\n"));
        assert!(answer("keelson -h foo").contains("\nUsage:\n  keelson [flags]\n"));
        check("kube-apiserver --help --foo", "Error: unknown flag: --foo");
        check(
            "kube-apiserver foo --version",
            "Error: \"kube-apiserver\" does not take any arguments, got [\"foo\"]",
        );
    }
}
