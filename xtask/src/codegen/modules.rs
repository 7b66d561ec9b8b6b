//! Go modules on this machine: asked from the Go command, which fetches what it does not have.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The level that Keelson speaks.
const VERSION: &str = "v0.36.4";

/// The modules that define the API.
const MODULES: &[&str] =
    &["k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver", "k8s.io/kube-aggregator"];

/// Where the sources of the modules are.
pub struct Modules {
    folders: Vec<(&'static str, PathBuf)>,
}

impl Modules {
    /// Finds all modules, or says what is missing.
    pub fn find() -> Result<Modules> {
        let folders = MODULES.iter().map(|module| Ok((*module, folder(module)?)));
        Ok(Modules { folders: folders.collect::<Result<_>>()? })
    }

    /// The folder of a package, if one of the modules has it.
    pub fn package(&self, path: &str) -> Option<PathBuf> {
        self.folders.iter().find_map(|(module, folder)| {
            let inside = path.strip_prefix(module)?.strip_prefix('/')?;
            Some(folder.join(inside))
        })
    }

    /// The packages `group/version` of a module that register kinds, sorted.
    pub fn versions(&self, module: &str) -> Result<Vec<String>> {
        let Some((_, root)) = self.folders.iter().find(|(name, _)| *name == module) else {
            bail!("unknown module {module}");
        };
        let mut found = Vec::new();
        for group in subfolders(root)? {
            for version in subfolders(&root.join(&group))? {
                if root.join(&group).join(&version).join("register.go").exists() {
                    found.push(format!("{module}/{group}/{version}"));
                }
            }
        }
        Ok(found)
    }
}

fn folder(module: &str) -> Result<PathBuf> {
    let output = Command::new("go")
        .args(["mod", "download", "-json", &format!("{module}@{VERSION}")])
        .env("GOFLAGS", "-mod=mod")
        // Outside of any module of its own, so that nothing but the argument counts.
        .current_dir(std::env::temp_dir())
        .output()
        .context("the tables are made from Go modules, and the `go` command cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let answer: serde_json::Value = serde_json::from_str(&text).with_context(|| {
        format!("`go mod download` says: {}", String::from_utf8_lossy(&output.stderr).trim())
    })?;
    if let Some(error) = answer["Error"].as_str() {
        bail!("cannot get {module} {VERSION}: {error}");
    }
    let folder =
        answer["Dir"].as_str().with_context(|| format!("`go mod download` names no folder for {module}"))?;
    ensure!(Path::new(folder).is_dir(), "{folder} is not there");
    Ok(PathBuf::from(folder))
}

fn subfolders(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}
