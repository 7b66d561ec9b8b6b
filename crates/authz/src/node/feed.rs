//! Feeds the graph with changes of objects.

use std::collections::HashSet;
use std::sync::Arc;

use keelson_object::{Follower, Frozen, Map, Object};

use super::graph::{Binding, Bond, Graph, Kind, Need};
use super::references::{self, MIRROR};

/// Tells a graph of the objects of one resource.
pub struct Feed {
    graph: Arc<Graph>,
    kind: Kind,
}

/// Group, plural and kind in the graph.
const SOURCES: [(&str, &str, Kind); 5] = [
    ("", "pods", Kind::Pod),
    ("", "persistentvolumes", Kind::Volume),
    ("storage.k8s.io", "volumeattachments", Kind::Attachment),
    ("resource.k8s.io", "resourceslices", Kind::Slice),
    ("certificates.k8s.io", "podcertificaterequests", Kind::CertificateRequest),
];

impl Feed {
    /// All feeds of a graph, with the group and the plural of what they follow.
    ///
    /// Upstream: plugin/pkg/auth/authorizer/node/graph_populator.go, AddGraphEventHandlers (v1.36.4).
    pub fn all(graph: &Arc<Graph>) -> impl Iterator<Item = (&'static str, &'static str, Arc<Feed>)> {
        SOURCES.iter().map(|(group, plural, kind)| {
            (*group, *plural, Arc::new(Feed { graph: graph.clone(), kind: *kind }))
        })
    }

    fn need(&self, object: &Object) -> Need {
        Need::new(self.kind, &object.meta.namespace, &object.meta.name)
    }
}

impl Follower for Feed {
    fn reset(&self, objects: Vec<Object>) {
        let wanted: HashSet<Need> = objects.iter().map(|it| self.need(it)).collect();
        self.graph.keep(self.kind, &wanted);
        for object in objects {
            self.put(object);
        }
    }

    fn put(&self, object: Object) {
        match self.kind {
            Kind::Volume => self.graph.bind(&object.meta.name, binding(&object)),
            Kind::Pod => self.graph.tell(&self.need(&object), bond_of_pod(&object)),
            _ => {
                let need = self.need(&object);
                let node = object.text_at("spec.nodeName").filter(|it| !it.is_empty());
                let bond = node.map(|it| Bond { node: it.into(), needs: HashSet::from([need.clone()]) });
                self.graph.tell(&need, bond);
            }
        }
    }

    fn remove(&self, object: &Frozen) {
        let index = object.index();
        match self.kind {
            Kind::Volume => self.graph.bind(&index.name, None),
            kind => self.graph.tell(&Need::new(kind, &index.namespace, &index.name), None),
        }
    }
}

/// The objects that a scheduled pod needs on its node.
///
/// Upstream: plugin/pkg/auth/authorizer/node/graph.go, AddPod (v1.36.4).
fn bond_of_pod(pod: &Object) -> Option<Bond> {
    let node = pod.text_at("spec.nodeName").filter(|it| !it.is_empty())?;
    let namespace = &pod.meta.namespace;
    let mut needs = HashSet::from([Need::new(Kind::Pod, namespace, &pod.meta.name)]);
    // A node that creates a mirror pod must not gain access by it.
    if pod.meta.annotations.get(MIRROR).is_none() {
        let empty = Map::new();
        let spec = pod.fields.map("spec").unwrap_or(&empty);
        let status = pod.fields.map("status").unwrap_or(&empty);
        let mut need = |kind, name: &str| needs.insert(Need::new(kind, namespace, name));
        if let Some(account) = spec.str("serviceAccountName").filter(|it| !it.is_empty()) {
            need(Kind::ServiceAccount, account);
        }
        references::secrets(spec).for_each(|it| _ = need(Kind::Secret, it));
        references::config_maps(spec).for_each(|it| _ = need(Kind::ConfigMap, it));
        references::resource_claims(spec, status).for_each(|it| _ = need(Kind::ResourceClaim, it));
        let claims = spec.maps("volumes").filter_map(|it| references::claim_name(pod, it));
        claims.filter(|it| !it.is_empty()).for_each(|it| _ = need(Kind::Claim, &it));
    }
    Some(Bond { node: node.into(), needs })
}

/// The objects that a volume makes accessible once it is bound to a claim.
///
/// Upstream: plugin/pkg/auth/authorizer/node/graph.go, AddPV (v1.36.4).
fn binding(volume: &Object) -> Option<Binding> {
    let spec = volume.fields.map("spec")?;
    let claim = spec.map("claimRef")?;
    let (namespace, name) = (claim.str("namespace").unwrap_or(""), claim.str("name").unwrap_or(""));
    let secrets = references::volume_secrets(spec, namespace).into_iter();
    let secrets = secrets.map(|(namespace, name)| Need::new(Kind::Secret, namespace, name));
    Some(Binding { claim: Need::new(Kind::Claim, namespace, name), secrets: secrets.collect() })
}
