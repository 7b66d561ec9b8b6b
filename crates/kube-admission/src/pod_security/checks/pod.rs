//! Pod: the input of the checks, and the wording of their details.

use std::collections::BTreeSet;

use keelson_object::meta::StringMap;
use keelson_object::{Map, Value};

use crate::pods::CONTAINERS;

/// A pod, or the template of pods.
#[derive(Clone, Copy)]
pub(crate) struct Pod<'p> {
    pub(crate) annotations: &'p StringMap,
    pub(crate) spec: &'p Map,
}

impl<'p> Pod<'p> {
    /// All containers: init containers, containers and ephemeral containers.
    pub(crate) fn containers(&self) -> impl Iterator<Item = &'p Map> + use<'p> {
        let spec = self.spec;
        CONTAINERS.into_iter().flat_map(|list| spec.maps(list))
    }

    /// The names of the containers that are not right.
    pub(crate) fn containers_where(&self, mut is_bad: impl FnMut(&'p Map) -> bool) -> Vec<&'p str> {
        self.containers().filter(|it| is_bad(it)).map(name).collect()
    }

    /// The security context of the pod as a whole.
    pub(crate) fn security(&self) -> Option<&'p Map> {
        self.spec.map("securityContext")
    }

    /// Whether the pod has its own user namespace.
    pub(crate) fn has_own_users(&self) -> bool {
        self.spec.bool("hostUsers") == Some(false)
    }
}

/// The security context of a container.
pub(crate) fn security(container: &Map) -> Option<&Map> {
    container.map("securityContext")
}

/// The name of a container or a volume.
pub(crate) fn name(map: &Map) -> &str {
    map.str("name").unwrap_or_default()
}

/// The texts of a list.
pub(crate) fn texts<'m>(map: &'m Map, key: &str) -> impl Iterator<Item = &'m str> {
    map.list(key).iter().filter_map(Value::as_str)
}

/// `one` for one, `many` for any other number.
pub(crate) fn number(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

/// `"a", "b"`
pub(crate) fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|it| format!("\"{}\"", it.as_ref())).collect();
    items.join(", ")
}

/// `containers "a", "b"`
pub(crate) fn containers(names: &[&str]) -> String {
    format!("{} {}", number(names.len(), "container", "containers"), quoted(names))
}

/// The parts of a pod that set a field: `pod and container "a"`; `None` if there are none.
pub(crate) fn setters(pod: bool, names: &[&str]) -> Option<String> {
    let pod = pod.then(|| "pod".to_owned());
    let names = (!names.is_empty()).then(|| containers(names));
    let all: Vec<String> = pod.into_iter().chain(names).collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// Values that were found, sorted and without duplicates.
pub(crate) type Found<'p> = BTreeSet<&'p str>;
