//! Startup message: the address of the server and how to use it, or in one line why it does not run.

use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use crate::command::short_version;
use crate::config::Config;
use crate::error::Error;
use crate::flags::Face;
use crate::pki::kubeconfig::url;

/// The text that is printed when the server listens at `address`.
#[must_use]
pub fn banner(config: &Config, address: SocketAddr, kubeconfig: Option<&Path>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{} serves at {}", short_version(Face::Standalone), url(address));
    let _ = writeln!(out, "  data folder  {}", config.data_dir.display());
    if let Some(kubeconfig) = kubeconfig {
        let path = kubeconfig.display().to_string();
        let _ = writeln!(out, "  kubeconfig   {path}");
        let _ = writeln!(out, "\n  kubectl --kubeconfig {} get namespaces\n", shell_word(&path));
    }
    out
}

/// An error in one line, with its causes.
#[must_use]
pub fn report(error: &Error) -> String {
    let mut out = format!("Error: {error}");
    let mut cause = error.source();
    while let Some(source) = cause {
        let text = match source.downcast_ref::<io::Error>() {
            Some(error) => io_words(error),
            None => source.to_string(),
        };
        let _ = write!(out, ": {text}");
        cause = source.source();
    }
    if let Error::Listen { cause, .. } = error
        && cause.kind() == io::ErrorKind::AddrInUse
    {
        out.push_str("; stop the other server or choose another port with --secure-port");
    }
    out
}

/// The error without its number, unless the system has no text for it.
fn io_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        io::ErrorKind::Other => error.to_string(),
        kind => kind.to_string(),
    }
}

/// A word that is safe in a shell.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use super::{banner, report};
    use crate::config::{Config, Environment};
    use crate::error::Error;
    use crate::flags::{Face, parse};

    #[track_caller]
    fn check(error: &Error, expected: &str) {
        assert_eq!(report(error), expected);
    }

    #[test]
    fn a_start_tells_the_line_to_copy() {
        let flags = parse(Face::Standalone, &["--data-dir=/data".to_owned()]).expect("flags");
        let config = Config::new(&flags, &Environment::default()).expect("a config");
        let address = "127.0.0.1:6443".parse().expect("an address");
        let text = banner(&config, address, Some(Path::new("/my data/admin.kubeconfig")));
        assert_eq!(
            text,
            "Keelson 0.1.0 (Kubernetes v1.36.4) serves at https://127.0.0.1:6443\n\
             \x20 data folder  /data\n\
             \x20 kubeconfig   /my data/admin.kubeconfig\n\
             \n\
             \x20 kubectl --kubeconfig '/my data/admin.kubeconfig' get namespaces\n\n"
        );
    }

    #[test]
    fn errors_are_told_in_one_line() {
        let address = "127.0.0.1:6443".parse().expect("an address");
        check(
            &Error::Listen { address, cause: io::ErrorKind::AddrInUse.into() },
            "Error: failed to create listener: failed to listen on 127.0.0.1:6443: listen tcp 127.0.0.1:6443: bind: address in \
             use; \
             stop the other server or choose another port with --secure-port",
        );
        check(
            &Error::Folder { path: "/data".into(), source: io::ErrorKind::PermissionDenied.into() },
            "Error: data folder /data is not usable: permission denied",
        );
        check(
            &Error::FolderLocked { path: "/data".into(), pid: Some(7) },
            "Error: data folder /data is in use by another Keelson (pid 7)",
        );
        check(
            &Error::Unusable { path: "/data/ca.crt".into(), reason: "it holds no certificate".to_owned() },
            "Error: /data/ca.crt is not usable: it holds no certificate",
        );
        check(&Error::Invalid(vec!["a".to_owned(), "b".to_owned(), "a".to_owned()]), "Error: [a, b]");
        check(&Error::Invalid(vec!["a".to_owned()]), "Error: a");
    }
}
