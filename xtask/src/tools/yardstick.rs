//! The published API of Kubernetes as data: a folder with `discovery/`, `openapi/` and `samples/`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::go::{self, CHECKSUMS};
use super::{KUBERNETES, Provision, STAGING};
use crate::repo::{Repo, output};

/// A folder of the data beside the checkout, else the same files out of Go's module cache.
pub fn provide(repo: &Repo) -> Result<Provision> {
    let beside = repo.path("../shared/data");
    if is_complete(&beside) {
        let folder =
            fs::canonicalize(&beside).with_context(|| format!("cannot read {}", beside.display()))?;
        return Ok(Provision::At(folder));
    }
    let kept = repo.tools().join(KUBERNETES).join("yardstick");
    if !is_complete(&kept)
        && let Err(error) = link(repo, &kept)
    {
        return Ok(Provision::Missing(format!("{error:#}")));
    }
    Ok(Provision::At(kept))
}

fn is_complete(folder: &Path) -> bool {
    ["discovery/apis.json", "openapi/swagger.json", "samples"].iter().all(|name| folder.join(name).exists())
}

fn link(repo: &Repo, to: &Path) -> Result<()> {
    ensure!(go::is_there(), "the data comes as Go modules, and Go is not installed");
    let kubernetes = download(repo, "k8s.io/kubernetes", KUBERNETES)?;
    let api = download(repo, "k8s.io/api", STAGING)?;
    link_modules(&kubernetes, &api, to)
}

/// Lays the folders of the two modules out as tests expect them.
fn link_modules(kubernetes: &Path, api: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for (name, source) in [
        ("discovery", kubernetes.join("api/discovery")),
        ("openapi", kubernetes.join("api/openapi-spec")),
        ("samples", api.join("testdata/HEAD")),
    ] {
        ensure!(source.exists(), "{} is not in the module", source.display());
        let link = to.join(name);
        // A link of an earlier run may point into a module cache that was cleaned.
        if link.is_symlink() {
            fs::remove_file(&link).with_context(|| format!("cannot replace {}", link.display()))?;
        }
        symlink(&source, &link).with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(())
}

/// The folder of a module in Go's module cache.
fn download(repo: &Repo, module: &str, version: &str) -> Result<PathBuf> {
    println!("fetching {module} {version}");
    let wanted = format!("{module}@{version}");
    let answer = output(go::go(repo.root()).args(["mod", "download", "-json", &wanted]))?;
    let answer: Value = serde_json::from_str(&answer).context("go mod download did not answer in JSON")?;
    let expected = CHECKSUMS.iter().find(|(name, ..)| *name == module).map(|(.., hash)| *hash);
    ensure!(answer["Sum"].as_str() == expected, "{wanted} does not have the checksum we know");
    answer["Dir"].as_str().map(PathBuf::from).context("go mod download named no folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_replaced_when_the_module_cache_moved() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let to = scratch.path().join("yardstick");
        for cache in ["old", "new"] {
            let kubernetes = scratch.path().join(cache).join("kubernetes");
            let api = scratch.path().join(cache).join("api");
            for folder in [
                kubernetes.join("api/discovery"),
                kubernetes.join("api/openapi-spec"),
                api.join("testdata/HEAD"),
            ] {
                fs::create_dir_all(folder).expect("a folder");
            }
            fs::write(kubernetes.join("api/discovery/apis.json"), cache).expect("a file");
            fs::write(kubernetes.join("api/openapi-spec/swagger.json"), cache).expect("a file");

            assert!(!is_complete(&to));
            link_modules(&kubernetes, &api, &to).expect("the modules are complete");
            assert!(is_complete(&to));
            assert_eq!(fs::read_to_string(to.join("discovery/apis.json")).expect("a link"), cache);
            fs::remove_dir_all(scratch.path().join(cache)).expect("the cache goes away");
        }
    }
}
