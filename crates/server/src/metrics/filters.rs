//! Filter metrics: the durations of the steps before the handler, and the number of requests by user.
//!
//! Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/filterlatency/filterlatency.go and
//! endpoints/filters/metrics.go (v1.36.4).

use std::sync::{Arc, OnceLock};

use super::{Counter, Family, Histogram, Registry};

const BUCKETS: &[f64] = &[0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0, 10.0, 15.0, 30.0];

/// The durations of the steps. A request that is refused in a step is not counted for it.
pub struct Filters {
    family: Arc<Family<Histogram>>,
    /// Authentication, also if it fails.
    pub authentication: Arc<Histogram>,
    /// Audit.
    pub audit: Arc<Histogram>,
    /// Authorization.
    pub authorization: Arc<Histogram>,
    impersonation: OnceLock<Arc<Histogram>>,
}

impl Filters {
    pub(super) fn new(registry: &Registry) -> Filters {
        let family = registry.family(Family::<Histogram>::with_buckets(
            "apiserver_request_filter_duration_seconds",
            "[ALPHA] Seconds that a step before the answer took, by step.",
            &["filter"],
            BUCKETS,
        ));
        Filters {
            authentication: family.with(&["authentication"]),
            audit: family.with(&["audit"]),
            authorization: family.with(&["authorization"]),
            impersonation: OnceLock::new(),
            family,
        }
    }

    /// Impersonation, under the name of the step in this server. The name does not change while the server
    /// runs.
    pub(crate) fn impersonation(&self, name: &'static str) -> &Histogram {
        self.impersonation.get_or_init(|| self.family.with(&[name]))
    }
}

/// The user names that are shown; all others are counted together.
const SHOWN: [&str; 5] =
    ["admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"];

/// Requests by user name.
pub struct Users {
    family: Arc<Family<Counter>>,
    shown: [OnceLock<Arc<Counter>>; SHOWN.len()],
    email: OnceLock<Arc<Counter>>,
    other: OnceLock<Arc<Counter>>,
}

impl Users {
    pub(super) fn new(registry: &Registry) -> Users {
        Users {
            family: registry.family(Family::new(
                "authenticated_user_requests",
                "[ALPHA] Requests of users that are known, by name; most names are other.",
                &["username"],
            )),
            shown: [const { OnceLock::new() }; SHOWN.len()],
            email: OnceLock::new(),
            other: OnceLock::new(),
        }
    }

    /// Counts one more request of this user.
    pub(crate) fn count(&self, name: &str) {
        let (slot, label) = match SHOWN.iter().position(|it| *it == name) {
            Some(position) => (&self.shown[position], SHOWN[position]),
            None if name.contains('@') => (&self.email, "email_id"),
            None => (&self.other, "other"),
        };
        slot.get_or_init(|| self.family.with(&[label])).inc();
    }
}

#[cfg(test)]
mod tests {
    use super::Users;
    use crate::metrics::Registry;

    #[test]
    fn names_are_not_shown_unless_everybody_has_them() {
        let registry = Registry::default();
        let users = Users::new(&registry);
        for name in ["admin", "jane", "jane@example.com", "system:admin", "kubelet", "joe@example.com"] {
            users.count(name);
        }
        let text = registry.text();
        let check = |label: &str, count: u32| {
            let line = format!("authenticated_user_requests{{username=\"{label}\"}} {count}\n");
            assert!(text.contains(&line), "{line} in {text}");
        };
        check("admin", 1);
        check("kubelet", 1);
        check("email_id", 2);
        check("other", 2);
    }
}
