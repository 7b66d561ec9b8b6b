//! Storage version barrier: writes wait until the StorageVersions of this server are recorded, so that storage
//! migration knows every version that is written.
//!
//! Upstream: apiserver/pkg/endpoints/filters/storageversion.go (v1.36.4).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use keelson_authn::User;
use keelson_object::GroupResource;
use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::request_info::RequestInfo;

/// The resources that are not recorded yet.
#[derive(Debug)]
pub struct StorageVersionBarrier {
    /// True as soon as nothing is pending: most requests only read this.
    is_open: AtomicBool,
    /// The last problem of each resource that is pending.
    pending: Mutex<HashMap<GroupResource, Option<String>>>,
}

impl StorageVersionBarrier {
    /// All of `resources` are pending.
    pub fn new(resources: impl IntoIterator<Item = GroupResource>) -> StorageVersionBarrier {
        let pending: HashMap<_, _> = resources.into_iter().map(|it| (it, None)).collect();
        StorageVersionBarrier { is_open: AtomicBool::new(pending.is_empty()), pending: Mutex::new(pending) }
    }

    /// Notes an attempt to record a resource; without a problem it is no longer pending.
    pub fn record(&self, resource: &GroupResource, problem: Option<String>) {
        let mut pending = self.pending.lock();
        match problem {
            None => drop(pending.remove(resource)),
            Some(problem) => {
                if let Some(last) = pending.get_mut(resource) {
                    *last = Some(problem);
                }
            }
        }
        if pending.is_empty() {
            self.is_open.store(true, Ordering::Release);
        }
    }

    /// Whether every resource is recorded.
    pub fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Refuses a write to a resource that is pending.
    pub(crate) fn check(&self, info: &RequestInfo, user: &User) -> Result<()> {
        if self.is_open() || !info.is_resource_request || is_exempt(info, user) {
            return Ok(());
        }
        let resource = GroupResource::new(info.group.clone(), info.resource.clone());
        match self.pending.lock().get(&resource) {
            None => Ok(()),
            Some(problem) => Err(Error::StorageVersionPending { problem: problem.clone(), resource }),
        }
    }
}

/// Reads, and the writes without which nothing would ever be recorded.
fn is_exempt(info: &RequestInfo, user: &User) -> bool {
    match (&*info.group, &*info.resource) {
        _ if matches!(&*info.verb, "get" | "list" | "watch") => true,
        ("internal.apiserver.k8s.io", "storageversions") => true,
        ("", "namespaces") => {
            info.verb == "create"
                && user.name == "system:apiserver"
                && user.groups.iter().any(|it| *it == "system:masters")
        }
        ("coordination.k8s.io", "leases") => info.namespace == "kube-system",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use keelson_authn::User;
    use keelson_object::GroupResource;

    use super::StorageVersionBarrier;
    use crate::request_info::RequestInfo;

    fn barrier() -> StorageVersionBarrier {
        let names =
            [("", "pods"), ("", "namespaces"), ("coordination.k8s.io", "leases"), ("apps", "deployments")];
        StorageVersionBarrier::new(names.map(|(group, resource)| GroupResource::new(group, resource)))
    }

    fn is_refused(barrier: &StorageVersionBarrier, user: &User, method: &Method, path: &str) -> bool {
        let info = RequestInfo::parse(method, &path.parse().expect("an address")).expect("a request");
        barrier.check(&info, user).is_err()
    }

    #[test]
    fn writes_to_what_is_not_recorded_are_refused() {
        let barrier = barrier();
        let check = |user: &str, method: Method, path: &str, expected: bool| {
            let user = User::new(user, &["system:masters"]);
            assert_eq!(is_refused(&barrier, &user, &method, path), expected, "{method} {path}");
        };
        check("u", Method::POST, "/api/v1/namespaces/a/pods", true);
        check("u", Method::DELETE, "/apis/apps/v1/namespaces/a/deployments/b", true);
        check("u", Method::GET, "/api/v1/namespaces/a/pods", false);
        check("u", Method::POST, "/version", false);
        check("u", Method::POST, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", false);
        check("u", Method::POST, "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions", false);
        check("u", Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/a", false);
        check("u", Method::PUT, "/apis/coordination.k8s.io/v1/namespaces/default/leases/a", true);
        check("u", Method::POST, "/api/v1/namespaces", true);
        check("system:apiserver", Method::POST, "/api/v1/namespaces", false);
    }

    #[test]
    fn the_barrier_opens_when_everything_is_recorded() {
        let barrier =
            StorageVersionBarrier::new([GroupResource::new("", "pods"), GroupResource::new("", "nodes")]);
        let user = User::new("u", &[]);
        let is_refused = || is_refused(&barrier, &user, &Method::POST, "/api/v1/namespaces/a/pods");
        barrier.record(&GroupResource::new("", "pods"), Some("no".to_owned()));
        assert!(is_refused());
        barrier.record(&GroupResource::new("", "pods"), None);
        assert!(!is_refused());
        assert!(!barrier.is_open());
        barrier.record(&GroupResource::new("", "nodes"), None);
        assert!(barrier.is_open());
        barrier.record(&GroupResource::new("", "nodes"), Some("later".to_owned()));
        assert!(barrier.is_open());
    }
}
