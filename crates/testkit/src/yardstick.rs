//! The published API of Kubernetes as data, to compare with.

use std::path::{Path, PathBuf};

use crate::tool::skip;

/// The folder with `discovery/`, `openapi/` and `samples/`: where `KEELSON_YARDSTICKS` says, else beside the
/// checkout. Without one, notes that `test` cannot run.
pub fn folder(test: &str) -> Option<PathBuf> {
    let named = std::env::var_os("KEELSON_YARDSTICKS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"));
    if folder.join("samples").is_dir() {
        return Some(folder);
    }
    skip(test, "KEELSON_YARDSTICKS names no folder with the published API");
    None
}

/// The samples: every kind with every field filled, as `(group, version, kind, path without extension)`.
pub fn samples(folder: &Path) -> Vec<Sample> {
    let entries = std::fs::read_dir(folder.join("samples")).expect("the folder of samples");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let mut samples: Vec<Sample> = paths.map(|path| Sample::at(&path)).collect();
    samples.sort_by(|a, b| a.name.cmp(&b.name));
    samples
}

/// One sample.
#[derive(Clone, Debug)]
pub struct Sample {
    /// `apps.v1.Deployment`.
    pub name: String,
    /// `apps`; empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `Deployment`.
    pub kind: String,
    path: PathBuf,
}

impl Sample {
    fn at(path: &Path) -> Sample {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let (rest, kind) = name.rsplit_once('.').expect("a kind");
        let (group, version) = rest.rsplit_once('.').expect("a version");
        Sample {
            group: if group == "core" { String::new() } else { group.to_owned() },
            version: version.to_owned(),
            kind: kind.to_owned(),
            path: path.to_owned(),
            name,
        }
    }

    /// `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Its bytes as `json`, `yaml` or `pb`.
    pub fn bytes(&self, extension: &str) -> Vec<u8> {
        let path = self.path.with_extension(extension);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}
