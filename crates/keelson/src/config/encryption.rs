//! Whether values are encrypted at rest.

use std::path::PathBuf;

use crate::flags::Flags;

/// The file that says what is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encryption {
    /// An EncryptionConfiguration.
    pub file: PathBuf,
    /// Whether it is read again when it changes.
    pub reload: bool,
}

/// What the flags say, if anything.
pub(super) fn encryption(flags: &Flags) -> Option<Encryption> {
    let file = flags.text("encryption-provider-config");
    let reload = flags.is_on("encryption-provider-config-automatic-reload");
    (!file.is_empty()).then(|| Encryption { file: file.into(), reload })
}
