//! Walks over all containers of a pod.

use keelson_object::Map;

use crate::shared::pod_template::CONTAINER_LISTS;

/// A container and where it is.
pub(crate) struct Placed<'s> {
    /// The list that holds it.
    pub(crate) list: &'static str,
    /// Its position there.
    pub(crate) position: usize,
    /// The container.
    pub(crate) container: &'s Map,
}

/// All containers: init containers, containers and ephemeral containers.
pub(crate) fn containers(spec: &Map) -> impl Iterator<Item = &Map> {
    placed(spec).map(|it| it.container)
}

/// All containers with their paths.
///
/// Upstream: pkg/apis/core/pods/helpers.go, VisitContainersWithPath (v1.36.4).
pub(crate) fn placed(spec: &Map) -> impl Iterator<Item = Placed<'_>> {
    CONTAINER_LISTS.into_iter().flat_map(|list| {
        spec.maps(list).enumerate().map(move |(position, container)| Placed { list, position, container })
    })
}
