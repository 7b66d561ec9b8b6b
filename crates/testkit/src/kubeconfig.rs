//! Reads what a client needs from a kubeconfig with one cluster and one user.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::connect::{Credentials, Identity};

/// The address of a server and the credentials.
#[derive(Clone, Debug)]
pub struct Kubeconfig {
    /// `https://127.0.0.1:6443`
    pub server: String,
    /// The CA of the server and our credentials.
    pub credentials: Credentials,
}

impl Kubeconfig {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Kubeconfig> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        parse(&text, folder).with_context(|| format!("{} is not a kubeconfig we understand", path.display()))
    }
}

/// Looks for the few fields by name, in block YAML as well as in indented JSON.
fn parse(text: &str, folder: &Path) -> Result<Kubeconfig> {
    let fields = Fields { text, folder };
    let identity = match (fields.pem("client-certificate")?, fields.pem("client-key")?) {
        (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
        _ => None,
    };
    Ok(Kubeconfig {
        server: fields.text("server").context("no server")?,
        credentials: Credentials {
            ca: fields.pem("certificate-authority")?,
            identity,
            token: fields.text("token"),
        },
    })
}

struct Fields<'t> {
    text: &'t str,
    folder: &'t Path,
}

impl Fields<'_> {
    fn text(&self, name: &str) -> Option<String> {
        self.text.lines().find_map(|line| {
            let line = line.trim().trim_start_matches("- ").trim_end_matches(',');
            let (key, value) = line.split_once(": ")?;
            let unquoted = |text: &str| text.trim().trim_matches('"').trim_matches('\'').to_owned();
            (unquoted(key) == name && !value.trim().is_empty()).then(|| unquoted(value))
        })
    }

    /// The `-data` field, decoded, or the file that the plain field names.
    fn pem(&self, name: &str) -> Result<Option<String>> {
        if let Some(data) = self.text(&format!("{name}-data")) {
            let bytes = STANDARD.decode(data).with_context(|| format!("{name}-data"))?;
            return Ok(Some(String::from_utf8(bytes).with_context(|| format!("{name}-data"))?));
        }
        let Some(path) = self.text(name).map(PathBuf::from) else {
            return Ok(None);
        };
        let path = self.folder.join(path);
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Some(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected_token: Option<&str>) {
        let read = parse(text, Path::new(".")).unwrap();
        assert_eq!(read.server, "https://127.0.0.1:6443");
        assert_eq!(read.credentials.ca.as_deref(), Some("pem"));
        assert_eq!(read.credentials.token.as_deref(), expected_token);
    }

    #[test]
    fn yaml_and_json_are_read() {
        check(
            "clusters:\n- cluster:\n    certificate-authority-data: cGVt\n    server: https://127.0.0.1:6443\n\
             users:\n- name: a\n  user:\n    token: secret\n",
            Some("secret"),
        );
        check(
            "{\n \"certificate-authority-data\": \"cGVt\",\n \"server\": \"https://127.0.0.1:6443\"\n}",
            None,
        );
    }
}
