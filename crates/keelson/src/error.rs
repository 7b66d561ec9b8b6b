//! Error: why the server does not start.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use keelson_object::scalar::quote;

use crate::go_file::system_words;

/// Why the server does not start. The texts about the command line are upstream's.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Who signs tokens of service accounts is not there, or of no use.
    #[error("{reason}")]
    ExternalSigner {
        /// In upstream's words.
        reason: String,
    },
    /// An argument that is no text.
    #[error("argument {argument:?} is not valid UTF-8")]
    NotText {
        /// What can be shown of it.
        argument: String,
    },
    /// A flag that does not exist.
    #[error("unknown flag: --{name}")]
    UnknownFlag {
        /// As it was typed, without dashes.
        name: String,
    },
    /// A letter that is no flag.
    #[error("unknown shorthand flag: '{letter}' in -{letters}")]
    UnknownShorthand {
        /// The letter.
        letter: char,
        /// The letters from this one on.
        letters: String,
    },
    /// Something like `--=x`.
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
    /// A value that the flag does not take.
    #[error("invalid argument {} for \"{flag}\" flag: {reason}", quote(value))]
    InvalidArgument {
        /// As it was typed.
        value: String,
        /// The flag with its dashes.
        flag: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Something that is no flag.
    #[error("\"{program}\" does not take any arguments, got [{}]", quoted(arguments))]
    Arguments {
        /// Who was called.
        program: &'static str,
        /// All of them.
        arguments: Vec<String>,
    },
    /// Values that are readable but not usable, all of them.
    #[error("{}", aggregate(.0))]
    Invalid(Vec<String>),
    /// There is no place for the data folder.
    #[error("cannot choose a data folder: neither $XDG_DATA_HOME nor $HOME is set; give one with --data-dir")]
    NoHome,
    /// The data folder cannot be made or used.
    #[error("data folder {} is not usable", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another server runs in the data folder.
    #[error("data folder {} is in use by another Keelson{}", path.display(), with_pid(*pid))]
    FolderLocked {
        /// The folder.
        path: PathBuf,
        /// Who has it, when that can be read.
        pid: Option<u32>,
    },
    /// A file that cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A file that is not what it should be. It is left as it is.
    #[error("{} is not usable: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file that another one is worth nothing without.
    #[error("{} is missing although {} is there", path.display(), partner.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The one that is there.
        partner: PathBuf,
    },
    /// A key or a certificate cannot be made.
    #[error("cannot make {what}")]
    Issue {
        /// For whom.
        what: String,
        /// What the library says.
        source: rcgen::Error,
    },
    /// What is in a file makes no sense to authentication.
    #[error("{} is not usable", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What authentication says.
        source: keelson_authn::AuthError,
    },
    /// The store in the data folder cannot be opened.
    #[error("the store cannot be opened")]
    Store(#[from] keelson_store_mvcc::Error),
    /// What is said about etcd makes no sense.
    #[error("etcd cannot be used")]
    Etcd(#[from] keelson_store_etcd::Error),
    /// Nobody answers.
    #[error("etcd at {endpoints} does not answer within {}s", waited.as_secs())]
    EtcdUnreachable {
        /// Who was asked.
        endpoints: String,
        /// For how long.
        waited: std::time::Duration,
        /// What happened last.
        source: keelson_store::StoreError,
    },
    /// The objects cannot be loaded.
    #[error("the objects cannot be loaded")]
    Load(#[from] keelson_registry::Error),
    /// The server cannot be put together.
    #[error("the server cannot be put together")]
    Build(#[from] keelson_server::BuildError),
    /// A command that is not there, or not like this.
    #[error("{problem}\n\n{usage}")]
    Usage {
        /// What is wrong.
        problem: String,
        /// How it is done.
        usage: &'static str,
    },
    /// The store does not do what it was asked for.
    #[error("the store cannot be used")]
    Entries(#[source] keelson_store::StoreError),
    /// The runtime cannot be started.
    #[error("the runtime cannot be started")]
    Runtime(#[source] io::Error),
    /// Nothing can be heard at this address.
    #[error(
        "failed to create listener: failed to listen on {address}: listen tcp {address}: bind: {}",
        system_words(cause)
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
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
