//! Golden data of validation: objects, changes and their errors, the same for us and for upstream.
//!
//! ```yaml
//! about: names of containers
//! object: {apiVersion: v1, kind: Pod, …}          # valid; every case begins with it
//! cases:
//! - name: a container has a name
//!   set: {'spec.containers[0].name': ''}          # created with this change: path and value, null removes
//!   errors: ['spec.containers[0].name: Required value']
//! - name: a phase is known
//!   given: [{part: status, set: {status.phase: Running}}]   # done to the created object, for real
//!   update: {status.phase: Nope}                  # and then this, to be validated
//!   part: status
//!   errors: […]                                   # `field: message` of the causes, in order; none: it is accepted
//!   code: 403                                     # where it is not 422; then `errors` has the message
//!   warnings: […]                                 # of the headers
//! ```
//!
//! An expectation that ends in `…` is only a prefix.

mod ask;
mod case;
mod edit;
mod record;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use keelson_object::Map;
use keelson_testkit::Client;

pub use case::{Case, Outcome};

/// One file: an object and its cases.
pub struct File {
    /// `pod/containers`
    pub name: String,
    /// The cases.
    pub cases: Vec<Case>,
    about: String,
    object: Map,
    path: PathBuf,
}

impl File {
    /// The files whose names begin with `filter`, sorted by name.
    pub fn all(filter: &str) -> Result<Vec<File>> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/apis/testdata/validation");
        let mut files = Vec::new();
        for kind in fs::read_dir(&root).with_context(|| format!("{}", root.display()))? {
            for file in fs::read_dir(kind?.path())? {
                let path = file?.path();
                let name = path.strip_prefix(&root)?.with_extension("").display().to_string();
                if name.starts_with(filter) {
                    files.push(case::load(name.clone(), path).context(name)?);
                }
            }
        }
        files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(files)
    }

    /// The outcome of each case on a server.
    pub async fn ask(&self, client: &Client) -> Result<Vec<Outcome>> {
        ask::file(self, client).await.with_context(|| self.name.clone())
    }

    /// Creates the object, in `namespace` if it is namespaced, and returns its path; `None` if nothing is
    /// stored.
    pub async fn create(&self, client: &Client, namespace: &str) -> Result<Option<String>> {
        ask::create(&self.object, client, namespace).await.with_context(|| self.name.clone())
    }

    /// Records the outcomes.
    pub fn record(&self, outcomes: &[Outcome]) -> Result<()> {
        let text = record::text(self, outcomes);
        fs::write(&self.path, text).with_context(|| format!("cannot write {}", self.path.display()))
    }
}
