//! External programs for tests, and how a test reports that one is missing.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// An external program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The command line client.
    Kubectl,
    /// Upstream's server, to compare with.
    KubeApiserver,
    /// The store of upstream's server.
    Etcd,
    /// The store of k3s: etcd's API in front of SQLite.
    Kine,
    /// Upstream's controllers.
    KubeControllerManager,
    /// Upstream's scheduler.
    KubeScheduler,
    /// Runs operators written in Python.
    Kopf,
}

impl Tool {
    /// The path: from its environment variable, else in `.tools/` of the repository.
    pub fn path(self) -> Option<PathBuf> {
        if let Some(path) = std::env::var_os(self.variable()) {
            return Some(PathBuf::from(path)).filter(|path| path.exists());
        }
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
        let versions = fs::read_dir(tools).ok()?;
        versions.flatten().map(|version| version.path().join(self.name())).find(|path| path.is_file())
    }

    /// The same; without one, reports that `test` cannot run.
    pub fn path_for(self, test: &str) -> Option<PathBuf> {
        let path = self.path();
        if path.is_none() {
            skip(test, &format!("{} is missing", self.name()));
        }
        path
    }

    /// Its file name.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Kubectl => "kubectl",
            Tool::KubeApiserver => "kube-apiserver",
            Tool::Etcd => "etcd",
            Tool::Kine => "kine",
            Tool::KubeControllerManager => "kube-controller-manager",
            Tool::KubeScheduler => "kube-scheduler",
            Tool::Kopf => "kopf",
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Tool::Kubectl => "KEELSON_KUBECTL",
            Tool::KubeApiserver => "KEELSON_KUBE_APISERVER",
            Tool::Etcd => "KEELSON_ETCD",
            Tool::Kine => "KEELSON_KINE",
            Tool::KubeControllerManager => "KEELSON_KUBE_CONTROLLER_MANAGER",
            Tool::KubeScheduler => "KEELSON_KUBE_SCHEDULER",
            Tool::Kopf => "KEELSON_KOPF",
        }
    }
}

/// Reports that a test cannot run here: on stdout, and in the file that `KEELSON_SKIP_REPORT` names.
pub fn skip(test: &str, reason: &str) {
    println!("SKIPPED: {test}: {reason}");
    let Some(report) = std::env::var_os("KEELSON_SKIP_REPORT") else {
        return;
    };
    let file = OpenOptions::new().create(true).append(true).open(report);
    if let Err(error) = file.and_then(|mut file| writeln!(file, "{test}: {reason}")) {
        panic!("the skip report cannot be written: {error}");
    }
}
