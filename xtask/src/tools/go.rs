//! Builds upstream's programs with the machine's Go, out of the Go module registry.
//!
//! Kubernetes refers to its staging modules by a path inside its own tree, so that `go install` refuses it. A
//! throw-away module that points each of them at its published version builds.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::{ETCD, KINE, KUBERNETES, STAGING, Tool};
use crate::repo::{Repo, output, succeed};

/// The modules that Kubernetes publishes from its own tree.
const STAGING_MODULES: [&str; 33] = [
    "api",
    "apiextensions-apiserver",
    "apimachinery",
    "apiserver",
    "cli-runtime",
    "client-go",
    "cloud-provider",
    "cluster-bootstrap",
    "code-generator",
    "component-base",
    "component-helpers",
    "controller-manager",
    "cri-api",
    "cri-client",
    "cri-streaming",
    "csi-translation-lib",
    "dynamic-resource-allocation",
    "endpointslice",
    "externaljwt",
    "kms",
    "kube-aggregator",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "metrics",
    "mount-utils",
    "pod-security-admission",
    "sample-apiserver",
    "sample-cli-plugin",
    "sample-controller",
    "streaming",
];

/// What a module must hash to, whichever mirror it comes from (a line of `go.sum`).
pub(super) type Checksum = (&'static str, &'static str, &'static str);

/// A throw-away module, in which some of the tools are built.
struct Module {
    /// Its folder.
    folder: &'static str,
    go_mod: fn() -> String,
    packages: &'static [&'static str],
    checksums: &'static [Checksum],
    /// SQLite is C.
    cgo: &'static str,
}

const UPSTREAM: Module =
    Module { folder: "module", go_mod, packages: &PACKAGES, checksums: &CHECKSUMS, cgo: "0" };

/// kine wants other versions of what Kubernetes wants, too.
const KINE_MODULE: Module = Module {
    folder: "kine-module",
    go_mod: || format!("module keelson.kine\n\ngo 1.26.0\n\nrequire {KINE_PACKAGE} {KINE}\n"),
    packages: &[KINE_PACKAGE],
    checksums: &[(KINE_PACKAGE, KINE, "h1:K3FKg5L0TaPtFC9ROXP5kSva9wji5dGZiwCD7s2oO88=")],
    cgo: "1",
};

const KINE_PACKAGE: &str = "github.com/k3s-io/kine";

pub(super) const CHECKSUMS: [Checksum; 3] = [
    ("k8s.io/kubernetes", KUBERNETES, "h1:08GT0ZOMtyCcRnslyvnpWurf1wm20KHbC/aRS+0LxSo="),
    ("k8s.io/api", STAGING, "h1:RxrvqCL6vgH5/+UnTeu1IIFqYmGfy0hnyrod1rn35Oo="),
    ("go.etcd.io/etcd/server/v3", ETCD, "h1:U2strdSEy1U8qcSzRIdkYpvOPtBy/9i/IfaaCI9flZ4="),
];

const PACKAGES: [&str; 5] = [
    "go.etcd.io/etcd/server/v3",
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kubectl",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-scheduler",
];

/// Whether this machine has Go.
pub fn is_there() -> bool {
    output(Command::new("go").arg("version")).is_ok()
}

/// Builds `tool` into the file `to`.
pub fn build(repo: &Repo, tool: Tool, to: &Path) -> Result<()> {
    ensure!(is_there(), "Go is not installed");
    let recipe = match tool {
        Tool::Kine => &KINE_MODULE,
        _ => &UPSTREAM,
    };
    let module = repo.tools().join(recipe.folder);
    for folder in [module.as_path(), to.parent().expect("tools are in a folder")] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    resolve(&module, recipe)?;

    println!("building {} {} (minutes on a small machine)", tool.name(), tool.version());
    let partial = to.with_extension("partial");
    let version = format!(
        "-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES} \
         -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36 \
         -X github.com/k3s-io/kine/pkg/version.Version={KINE}"
    );
    let mut command = go(&module);
    command.env("CGO_ENABLED", recipe.cgo);
    command.args(["build", "-trimpath", "-ldflags", &version, "-o"]).arg(&partial).arg(package(tool)?);
    succeed(&mut command)?;
    fs::rename(&partial, to).with_context(|| format!("cannot write {}", to.display()))
}

/// `go` with settings under which the same sources give the same program everywhere.
pub fn go(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(folder).env("CGO_ENABLED", "0").env("GOFLAGS", "-mod=mod -buildvcs=false");
    // An older Go fetches the one that Kubernetes asks for.
    command.env("GOTOOLCHAIN", "auto");
    command
}

/// Writes the throw-away module and lets Go complete it, unless that was done before.
fn resolve(module: &Path, recipe: &Module) -> Result<()> {
    let stamp = module.join("resolved");
    let (go_mod, tools_go) = ((recipe.go_mod)(), tools_go(recipe.packages));
    let wanted = format!("{go_mod}{tools_go}");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    for (file, text) in [("go.mod", go_mod), ("tools.go", tools_go), ("go.sum", String::new())] {
        fs::write(module.join(file), text).with_context(|| format!("cannot write {file}"))?;
    }
    println!("resolving Go modules");
    succeed(go(module).args(["mod", "tidy"]))?;
    let go_sum = fs::read_to_string(module.join("go.sum")).context("go mod tidy wrote no go.sum")?;
    verify(&go_sum, recipe.checksums)?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))
}

fn verify(go_sum: &str, checksums: &[Checksum]) -> Result<()> {
    for (module, version, hash) in checksums {
        let line = format!("{module} {version} {hash}");
        ensure!(go_sum.lines().any(|it| it == line), "{module} {version} does not have the checksum {hash}");
    }
    Ok(())
}

fn go_mod() -> String {
    let mut text = format!(
        "module keelson.tools\n\ngo 1.26.0\n\nrequire (\n\tgo.etcd.io/etcd/server/v3 {ETCD}\n\
         \tk8s.io/kubernetes {KUBERNETES}\n)\n\nreplace (\n"
    );
    for name in STAGING_MODULES {
        writeln!(text, "\tk8s.io/{name} => k8s.io/{name} {STAGING}").expect("a string takes everything");
    }
    text + ")\n"
}

fn tools_go(packages: &[&str]) -> String {
    let imports: String = packages.iter().map(|package| format!("\t_ \"{package}\"\n")).collect();
    format!("//go:build tools\n\npackage tools\n\nimport (\n{imports})\n")
}

fn package(tool: Tool) -> Result<&'static str> {
    match tool {
        Tool::Etcd => Ok(PACKAGES[0]),
        Tool::KubeApiserver => Ok(PACKAGES[1]),
        Tool::Kubectl => Ok(PACKAGES[2]),
        Tool::KubeControllerManager => Ok(PACKAGES[3]),
        Tool::KubeScheduler => Ok(PACKAGES[4]),
        Tool::Kine => Ok(KINE_PACKAGE),
        Tool::Kopf | Tool::Yardstick => bail!("{} is not built with Go", tool.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_staging_module_is_replaced() {
        let text = go_mod();
        assert_eq!(text.matches(" => ").count(), 33);
        assert!(text.contains("\tk8s.io/kubectl => k8s.io/kubectl v0.36.4\n"), "{text}");
    }

    #[test]
    fn a_wrong_checksum_is_refused() {
        let right: String =
            CHECKSUMS.iter().map(|(module, version, hash)| format!("{module} {version} {hash}\n")).collect();
        verify(&right, &CHECKSUMS).expect("these are the right ones");
        let error = verify(&right.replace("08GT", "XXXX"), &CHECKSUMS).expect_err("one is wrong");
        assert!(error.to_string().starts_with("k8s.io/kubernetes v1.36.4 does not have"), "{error}");
    }
}
