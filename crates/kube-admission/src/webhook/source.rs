//! Source: the webhooks of all configurations. Only changed configurations are parsed again.

use std::sync::Arc;

use arc_swap::ArcSwap;
use keelson_object::Frozen;
use keelson_registry::Result;
use keelson_registry::admission::Request;

use super::configuration::Manifests;
use super::hook::Hook;
use super::matching;

/// The webhooks of one kind of configuration.
pub(crate) struct Source {
    plural: &'static str,
    manifests: Manifests,
    read: ArcSwap<Vec<Configuration>>,
}

/// A configuration as it was read.
#[derive(Clone)]
struct Configuration {
    frozen: Arc<Frozen>,
    hooks: Arc<[Arc<Hook>]>,
}

impl Source {
    /// The webhooks of the configurations called `plural`, and those of files.
    pub(crate) fn new(plural: &'static str, manifests: Manifests) -> Source {
        Source { plural, manifests, read: ArcSwap::default() }
    }

    /// Whether any webhook could be called for such a request.
    pub(crate) fn concerns(&self, request: &Request<'_>) -> bool {
        !matching::is_exempt(request) || !self.manifests.hooks().is_empty()
    }

    /// All webhooks that may be called: those of files first, each sorted by the names of their
    /// configurations.
    pub(crate) fn hooks(&self, request: &Request<'_>) -> Result<Vec<Arc<Hook>>> {
        let manifests = self.manifests.hooks();
        let catalog = request.context.catalog.as_ref().filter(|_| !matching::is_exempt(request));
        let Some(live) = catalog.and_then(|it| it.live("admissionregistration.k8s.io", self.plural)) else {
            return Ok(manifests.to_vec());
        };
        let snapshot = live.cache()?.snapshot();
        if snapshot.is_empty() {
            return Ok(manifests.to_vec());
        }
        let mut known = self.read.load_full();
        let is_known = |(frozen, known): (&Arc<Frozen>, &Configuration)| Arc::ptr_eq(frozen, &known.frozen);
        let there = || snapshot.iter().map(|(_, frozen)| frozen);
        if known.len() != snapshot.len() || !there().zip(known.iter()).all(is_known) {
            let mut read = Vec::with_capacity(snapshot.len());
            for frozen in there() {
                let same = known.iter().find(|it| Arc::ptr_eq(frozen, &it.frozen)).cloned();
                read.push(match same {
                    Some(same) => same,
                    None => {
                        let hooks = Hook::all(&live.thaw(frozen)?).into_iter().map(Arc::new).collect();
                        Configuration { frozen: frozen.clone(), hooks }
                    }
                });
            }
            known = Arc::new(read);
            self.read.store(known.clone());
        }
        Ok(manifests.iter().chain(known.iter().flat_map(|it| it.hooks.iter())).cloned().collect())
    }
}
