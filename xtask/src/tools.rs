//! `cargo xtask tools`: what tests need from others, kept in `.tools/` by version.
//!
//! Tests find each tool through an environment variable. A variable that a user has set wins; a tool that
//! cannot be had is reported with the reason, and the tests that need it report themselves skipped.

pub mod debian;
pub mod go;
pub mod python;
pub mod yardstick;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::repo::{Repo, output};
use crate::steps::{Outcome, Steps};
use crate::suite::Tier;

/// The level of Kubernetes that Keelson serves and is compared with.
pub const KUBERNETES: &str = "v1.36.4";
/// The version of the modules that Kubernetes publishes beside itself.
pub const STAGING: &str = "v0.36.4";
/// The etcd that this Kubernetes is built with.
pub const ETCD: &str = "v3.6.8";
/// A store that speaks etcd's API in front of SQLite: what k3s uses.
pub const KINE: &str = "v0.14.16";
/// The framework with which a webhook of others is written.
pub const KOPF: &str = "1.45.2";

/// Something of others that tests use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    Kubectl,
    KubeApiserver,
    Etcd,
    Kine,
    KubeControllerManager,
    KubeScheduler,
    /// Runs operators written in Python.
    Kopf,
    /// The published API as data: discovery, OpenAPI, one sample object per kind and version.
    Yardstick,
}

/// Where a tool is, or why it is not.
#[derive(Debug)]
pub enum Provision {
    At(PathBuf),
    Missing(String),
}

/// Provides every tool of `tier` and says how that went.
pub fn run(repo: &Repo, tier: Tier) -> Result<()> {
    let mut steps = Steps::default();
    for tool in needed(tier) {
        steps.run(tool.name(), || match tool.provide(repo)? {
            Provision::At(path) => Ok(Outcome::Passed(format!("{}={}", tool.variable(), path.display()))),
            Provision::Missing(reason) => Ok(Outcome::Skipped(reason)),
        });
    }
    steps.finish()
}

/// The tools of a tier. Upstream's own components take minutes to build, so the quick tier does without them.
pub fn needed(tier: Tier) -> &'static [Tool] {
    match tier {
        Tier::Quick => &[Tool::Kubectl, Tool::Yardstick],
        Tier::Full => &[
            Tool::Kubectl,
            Tool::KubeApiserver,
            Tool::Etcd,
            Tool::Kine,
            Tool::KubeControllerManager,
            Tool::KubeScheduler,
            Tool::Kopf,
            Tool::Yardstick,
        ],
    }
}

impl Tool {
    pub fn name(self) -> &'static str {
        match self {
            Tool::Kubectl => "kubectl",
            Tool::KubeApiserver => "kube-apiserver",
            Tool::Etcd => "etcd",
            Tool::Kine => "kine",
            Tool::KubeControllerManager => "kube-controller-manager",
            Tool::KubeScheduler => "kube-scheduler",
            Tool::Kopf => "kopf",
            Tool::Yardstick => "yardstick",
        }
    }

    /// The environment variable in which tests look.
    pub fn variable(self) -> &'static str {
        match self {
            Tool::Kubectl => "KEELSON_KUBECTL",
            Tool::KubeApiserver => "KEELSON_KUBE_APISERVER",
            Tool::Etcd => "KEELSON_ETCD",
            Tool::Kine => "KEELSON_KINE",
            Tool::KubeControllerManager => "KEELSON_KUBE_CONTROLLER_MANAGER",
            Tool::KubeScheduler => "KEELSON_KUBE_SCHEDULER",
            Tool::Kopf => "KEELSON_KOPF",
            Tool::Yardstick => "KEELSON_YARDSTICKS",
        }
    }

    /// Finds, builds or fetches it. Fails only on a bug of ours; what the machine lacks is `Missing`.
    pub fn provide(self, repo: &Repo) -> Result<Provision> {
        if let Some(path) = std::env::var_os(self.variable()).map(PathBuf::from) {
            let missing = || format!("{} names {}, which is not there", self.variable(), path.display());
            return Ok(if path.exists() { Provision::At(path) } else { Provision::Missing(missing()) });
        }
        if self == Tool::Yardstick {
            return yardstick::provide(repo);
        }
        let kept = repo.tools().join(self.version()).join(self.name());
        if self.is_right(&kept) {
            return Ok(Provision::At(kept));
        }
        if let Some(path) = on_search_path(self.name()).filter(|path| self.is_right(path)) {
            return Ok(Provision::At(path));
        }
        if self == Tool::Kopf {
            return Ok(match python::install(&kept) {
                Ok(()) => self.checked(kept),
                Err(error) => Provision::Missing(format!("{error:#}")),
            });
        }
        let Err(no_go) = go::build(repo, self, &kept) else {
            return Ok(self.checked(kept));
        };
        println!("not built: {no_go:#}");
        match debian::unpack(repo, self, &kept) {
            Ok(()) => Ok(self.checked(kept)),
            Err(no_package) => Ok(Provision::Missing(format!("{no_go:#}; {no_package:#}"))),
        }
    }

    fn version(self) -> &'static str {
        match self {
            Tool::Etcd => ETCD,
            Tool::Kine => KINE,
            Tool::Kopf => KOPF,
            _ => KUBERNETES,
        }
    }

    fn checked(self, path: PathBuf) -> Provision {
        if self.is_right(&path) {
            return Provision::At(path);
        }
        Provision::Missing(format!("{} is not {} {}", path.display(), self.name(), self.version()))
    }

    /// Whether the program at `path` says that it is the version we want.
    fn is_right(self, path: &Path) -> bool {
        let args: &[&str] = match self {
            Tool::Kubectl => &["version", "--client"],
            _ => &["--version"],
        };
        path.exists() && output(Command::new(path).args(args)).is_ok_and(|text| names(&text, self.version()))
    }
}

/// Whether `text` has the version as a word: `v1.36.4` is in "Client Version: v1.36.4", not in "v1.36.40".
/// etcd leaves the `v` out.
fn names(text: &str, version: &str) -> bool {
    let bare = version.trim_start_matches('v');
    text.split_whitespace().any(|word| word.trim_start_matches('v') == bare)
}

fn on_search_path(program: &str) -> Option<PathBuf> {
    let search_path = std::env::var_os("PATH")?;
    std::env::split_paths(&search_path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_whole_word() {
        for (text, expected) in [
            ("Client Version: v1.36.4\nKustomize Version: v5.8.1\n", true),
            ("Kubernetes v1.36.4\n", true),
            ("etcd Version: 1.36.4\nGit SHA: Not provided\n", true),
            ("Client Version: v1.36.40\n", false),
            ("Client Version: v1.32.4-dispatcher\n", false),
            ("", false),
        ] {
            assert_eq!(names(text, KUBERNETES), expected, "{text}");
        }
    }

    #[test]
    fn the_short_tier_needs_no_upstream_server() {
        assert!(!needed(Tier::Quick).contains(&Tool::KubeApiserver));
        assert!(needed(Tier::Quick).iter().all(|tool| needed(Tier::Full).contains(tool)));
    }
}
