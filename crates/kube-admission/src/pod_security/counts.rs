//! Metrics of PodSecurity: evaluations and their results.
//!
//! Upstream: staging/src/k8s.io/pod-security-admission/metrics/metrics.go (v1.36.4).

use std::collections::BTreeMap;

use keelson_object::SmolStr;
use keelson_registry::admission::{Operation, Request};
use parking_lot::Mutex;

use super::policy::{Level, Standard, Version};

/// The minor version up to which standards are known.
const KNOWN_MINOR: u32 = 36;

/// Values of labels in the order of upstream's labels, and how often.
pub type Sample = (Vec<String>, u64);

/// The metrics of PodSecurity.
#[derive(Debug)]
pub struct Counts {
    evaluations: Mutex<BTreeMap<Evaluation, u64>>,
    exemptions: Mutex<BTreeMap<Asked, u64>>,
    errors: Mutex<BTreeMap<(&'static str, Asked), u64>>,
}

type Evaluation = (&'static str, Level, SmolStr, &'static str, Asked);

/// Labels of a request: operation, resource, subresource.
type Asked = (&'static str, &'static str, SmolStr);

/// The result of evaluating a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Allow,
    Deny,
}

/// Whether an error ended the evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fatal {
    Yes,
    No,
}

impl Default for Counts {
    /// The most common series exist from the start.
    fn default() -> Counts {
        let asked = |operation, resource| (operation, resource, SmolStr::default());
        let evaluation = |operation| {
            ("allow", Level::Privileged, SmolStr::new_static("latest"), "enforce", asked(operation, "pod"))
        };
        let both = ["create", "update"];
        let exemptions = both.into_iter().flat_map(|it| [asked(it, "pod"), asked(it, "controller")]);
        Counts {
            evaluations: Mutex::new(both.into_iter().map(|it| (evaluation(it), 0)).collect()),
            exemptions: Mutex::new(exemptions.map(|it| (it, 0)).collect()),
            errors: Mutex::default(),
        }
    }
}

impl Counts {
    pub(crate) fn evaluated(
        &self,
        request: &Request<'_>,
        mode: &'static str,
        standard: Standard,
        decision: Decision,
    ) {
        let decision = match decision {
            Decision::Allow => "allow",
            Decision::Deny => "deny",
        };
        let version = match (standard.level, standard.version) {
            (Level::Privileged, _) | (_, Version::Latest) => SmolStr::new_static("latest"),
            (_, Version::Minor(minor)) if minor > KNOWN_MINOR => SmolStr::new_static("future"),
            (_, version) => version.to_string().into(),
        };
        let key = (decision, standard.level, version, mode, asked(request));
        *self.evaluations.lock().entry(key).or_default() += 1;
    }

    pub(crate) fn exempted(&self, request: &Request<'_>) {
        *self.exemptions.lock().entry(asked(request)).or_default() += 1;
    }

    pub(crate) fn failed(&self, request: &Request<'_>, fatal: Fatal) {
        let fatal = match fatal {
            Fatal::Yes => "true",
            Fatal::No => "false",
        };
        *self.errors.lock().entry((fatal, asked(request))).or_default() += 1;
    }

    /// By decision, policy_level, policy_version, mode, request_operation, resource and subresource.
    pub fn evaluations(&self) -> Vec<Sample> {
        let evaluations = self.evaluations.lock();
        let sample = |((decision, level, version, mode, asked), count): (&Evaluation, &u64)| {
            let labels = [(*decision).to_owned(), level.to_string(), version.to_string(), (*mode).to_owned()];
            (labels.into_iter().chain(texts(asked)).collect(), *count)
        };
        evaluations.iter().map(sample).collect()
    }

    /// By request_operation, resource and subresource.
    pub fn exemptions(&self) -> Vec<Sample> {
        self.exemptions.lock().iter().map(|(asked, count)| (texts(asked).into(), *count)).collect()
    }

    /// By fatal, request_operation, resource and subresource.
    pub fn errors(&self) -> Vec<Sample> {
        let errors = self.errors.lock();
        let labels = |fatal: &str, asked| [fatal.to_owned()].into_iter().chain(texts(asked)).collect();
        errors.iter().map(|((fatal, asked), count)| (labels(fatal, asked), *count)).collect()
    }
}

fn texts((operation, resource, subresource): &Asked) -> [String; 3] {
    [(*operation).to_owned(), (*resource).to_owned(), subresource.to_string()]
}

fn asked(request: &Request<'_>) -> Asked {
    let operation = match request.operation {
        Operation::Create => "create",
        Operation::Update => "update",
        Operation::Delete => "delete",
        Operation::Connect => "connect",
    };
    let resource = match (request.resource.group.as_str(), request.resource.plural.as_str()) {
        ("", "pods") => "pod",
        ("", "namespaces") => "namespace",
        _ => "controller",
    };
    (operation, resource, request.subresource.into())
}
