//! Errors of the startup.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use keelson_object::scalar::quote;

use crate::go_file::system_words;

/// Why the server does not start. The texts about the command line are upstream's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The external signer of service account tokens cannot be used.
    #[error("{reason}")]
    ExternalSigner {
        /// The reason, in upstream's words.
        reason: String,
    },
    /// An argument is not text.
    #[error("argument {argument:?} is not valid UTF-8")]
    NotText {
        /// The printable part of it.
        argument: String,
    },
    /// A flag that does not exist.
    #[error("unknown flag: --{name}")]
    UnknownFlag {
        /// The name as it was typed, without dashes.
        name: String,
    },
    /// A letter is not a flag.
    #[error("unknown shorthand flag: '{letter}' in -{letters}")]
    UnknownShorthand {
        /// The letter.
        letter: char,
        /// The letters from this one on.
        letters: String,
    },
    /// An argument such as `--=x`.
    #[error("bad flag syntax: {argument}")]
    BadFlagSyntax {
        /// As it was typed.
        argument: String,
    },
    /// A flag at the end that needs a value.
    #[error("flag needs an argument: {argument}")]
    MissingArgument {
        /// As it was typed.
        argument: String,
    },
    /// A letter at the end that needs a value.
    #[error("flag needs an argument: '{letter}' in -{letters}")]
    MissingShorthandArgument {
        /// The letter.
        letter: char,
        /// The letters from this one on.
        letters: String,
    },
    /// The value of a flag is invalid.
    #[error("invalid argument {} for \"{flag}\" flag: {reason}", quote(value))]
    InvalidArgument {
        /// As it was typed.
        value: String,
        /// The flag with its dashes.
        flag: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An argument is not a flag.
    #[error("\"{program}\" does not take any arguments, got [{}]", quoted(arguments))]
    Arguments {
        /// The name of the program.
        program: &'static str,
        /// All such arguments.
        arguments: Vec<String>,
    },
    /// Values that can be parsed but are invalid, all of them.
    #[error("{}", aggregate(.0))]
    Invalid(Vec<String>),
    /// There is no default location for the data folder.
    #[error("cannot choose a data folder: neither $XDG_DATA_HOME nor $HOME is set; give one with --data-dir")]
    NoHome,
    /// The data folder cannot be created or used.
    #[error("data folder {} is not usable", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Another server runs in the data folder.
    #[error("data folder {} is in use by another Keelson{}", path.display(), with_pid(*pid))]
    FolderLocked {
        /// The folder.
        path: PathBuf,
        /// The process id of that server, if it can be read.
        pid: Option<u32>,
    },
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The content of a file is invalid. It is left as it is.
    #[error("{} is not usable: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file is missing without which another file is useless.
    #[error("{} is missing although {} is there", path.display(), partner.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The file that exists.
        partner: PathBuf,
    },
    /// A key or a certificate cannot be created.
    #[error("cannot make {what}")]
    Issue {
        /// The purpose.
        what: String,
        /// The error of the library.
        source: rcgen::Error,
    },
    /// The content of a file is invalid for authentication.
    #[error("{} is not usable", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// The error of authentication.
        source: keelson_authn::AuthError,
    },
    /// The store in the data folder cannot be opened.
    #[error("the store cannot be opened")]
    Store(#[from] keelson_store_mvcc::Error),
    /// The settings of etcd are invalid.
    #[error("etcd cannot be used")]
    Etcd(#[from] keelson_store_etcd::Error),
    /// Etcd does not respond.
    #[error("etcd at {endpoints} does not answer within {}s", waited.as_secs())]
    EtcdUnreachable {
        /// The endpoints.
        endpoints: String,
        /// How long the server waited.
        waited: std::time::Duration,
        /// The last error.
        source: keelson_store::StoreError,
    },
    /// The objects cannot be loaded.
    #[error("the objects cannot be loaded")]
    Load(#[from] keelson_registry::Error),
    /// The server cannot be built.
    #[error("the server cannot be put together")]
    Build(#[from] keelson_server::BuildError),
    /// A command is unknown, or has wrong arguments.
    #[error("{problem}\n\n{usage}")]
    Usage {
        /// What is wrong.
        problem: String,
        /// The usage of the command.
        usage: &'static str,
    },
    /// An operation of the store failed.
    #[error("the store cannot be used")]
    Entries(#[source] keelson_store::StoreError),
    /// The runtime cannot be started.
    #[error("the runtime cannot be started")]
    Runtime(#[source] io::Error),
    /// The server cannot listen at this address.
    #[error(
        "failed to create listener: failed to listen on {address}: listen tcp {address}: bind: {}",
        system_words(cause)
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        cause: io::Error,
    },
}

fn quoted(arguments: &[String]) -> String {
    arguments.iter().map(|argument| quote(argument)).collect::<Vec<_>>().join(" ")
}

/// One error as it is, several as `[a, b]`, each once.
fn aggregate(errors: &[String]) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for error in errors {
        if !seen.contains(&error.as_str()) {
            seen.push(error);
        }
    }
    match seen[..] {
        [only] => only.to_owned(),
        _ => format!("[{}]", seen.join(", ")),
    }
}

fn with_pid(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (pid {pid})"))
}
