//! Total resources of a pod's containers.

use keelson_object::Map;

use crate::shared::resource_list::{self, Amounts};

/// The total requests or limits of the containers: those of the regular containers, or those of the largest
/// init container and the sidecars that were started before it, whichever is more.
///
/// Upstream: component-helpers/resource/helpers.go, AggregateContainerRequests (v1.36.4).
pub(crate) fn of_containers(spec: &Map, field: &str) -> Amounts {
    let amounts = |it: &Map| resource_list::read(it.map("resources").and_then(|it| it.map(field)));
    let mut total = Amounts::new();
    for container in spec.maps("containers") {
        resource_list::add(&mut total, &amounts(container));
    }
    let (mut sidecars, mut start) = (Amounts::new(), Amounts::new());
    for container in spec.maps("initContainers") {
        let own = amounts(container);
        if container.str("restartPolicy") == Some("Always") {
            resource_list::add(&mut total, &own);
            resource_list::add(&mut sidecars, &own);
            resource_list::raise(&mut start, &sidecars);
        } else {
            let mut together = own;
            resource_list::add(&mut together, &sidecars);
            resource_list::raise(&mut start, &together);
        }
    }
    resource_list::raise(&mut total, &start);
    total
}
