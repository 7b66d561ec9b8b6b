//! EncryptionConfiguration: the resources to encrypt, and their providers.

mod read;
mod rules;

pub(crate) use rules::group_resource;

use std::fmt;
use std::time::Duration;

use keelson_object::Value;

/// A validated configuration.
#[derive(Debug)]
pub struct Configuration {
    pub(crate) rules: Vec<Rule>,
}

/// What is wrong with a configuration, in upstream's words.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The document is not a configuration.
    #[error("{0}")]
    Form(String),
    /// The configuration is invalid.
    #[error("{0}")]
    Rules(String),
    /// The configuration is valid, but the providers cannot be built.
    #[error("error while building transformers: {0}")]
    Build(String),
}

/// Some resources and their providers.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    pub(crate) resources: Vec<String>,
    pub(crate) providers: Vec<ProviderRule>,
}

/// One element of `providers`: exactly one member is there when it is right.
#[derive(Debug, Default)]
pub(crate) struct ProviderRule {
    pub(crate) aes_gcm: Option<Vec<NamedKey>>,
    pub(crate) aes_cbc: Option<Vec<NamedKey>>,
    pub(crate) secretbox: Option<Vec<NamedKey>>,
    pub(crate) identity: bool,
    pub(crate) kms: Option<KmsRule>,
}

/// A key and its name. It is never printed.
#[derive(Default)]
pub(crate) struct NamedKey {
    pub(crate) name: String,
    /// The secret as it is written: base64.
    pub(crate) secret: String,
}

impl fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Name: {}, Secret: [REDACTED]", self.name)
    }
}

/// A key management service.
#[derive(Debug)]
pub(crate) struct KmsRule {
    pub(crate) api_version: String,
    pub(crate) name: String,
    pub(crate) cache_size: Option<i64>,
    pub(crate) endpoint: String,
    pub(crate) timeout: keelson_object::scalar::Duration,
}

impl KmsRule {
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout.to_std()
    }
}

/// Whether the file is read again when it changes; the rules are stricter then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reload {
    Yes,
    No,
}

impl Configuration {
    /// Reads a configuration that is not read again while the server runs.
    pub fn read(document: &Value) -> Result<Configuration, Problem> {
        Configuration::checked(document, Reload::No)
    }

    /// Reads a configuration that may be replaced by another one.
    pub fn read_reloadable(document: &Value) -> Result<Configuration, Problem> {
        Configuration::checked(document, Reload::Yes)
    }

    fn checked(document: &Value, reload: Reload) -> Result<Configuration, Problem> {
        let configuration = read::configuration(document).map_err(Problem::Form)?;
        let errors = rules::errors(&configuration, reload);
        if errors.is_empty() { Ok(configuration) } else { Err(Problem::Rules(errors.aggregate())) }
    }
}

#[cfg(test)]
pub(crate) mod tests;
