//! Encryption flags.

use std::path::PathBuf;

use crate::flags::Flags;

/// The configuration of encryption at rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// An EncryptionConfiguration.
    pub file: PathBuf,
    /// Whether it is reloaded when it changes.
    pub reload: bool,
}

/// The settings in the flags, if any.
pub(super) fn encryption(flags: &Flags) -> Option<Encryption> {
    let file = flags.text("encryption-provider-config");
    let reload = flags.is_on("encryption-provider-config-automatic-reload");
    (!file.is_empty()).then(|| Encryption { file: file.into(), reload })
}
