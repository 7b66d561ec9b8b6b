//! AlwaysPullImages: every pod pulls its images, so that it needs permission to do so.

use std::collections::HashSet;
use std::future::ready;

use keelson_object::{FieldErrors, Map, Object, Path, Value};
use keelson_registry::Error;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

use crate::aggregate::aggregate;
use crate::pods::{CONTAINERS, maps_mut};

const ALWAYS: &str = "Always";

/// The plugin.
pub(crate) struct AlwaysPullImages;

impl Plugin for AlwaysPullImages {
    fn name(&self) -> &'static str {
        "AlwaysPullImages"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/alwayspullimages/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        if let Some(pod) = object
            && !has_old_images(request, pod)
        {
            pull_always(pod.fields.map_mut("spec"));
        }
        Box::pin(ready(Ok(())))
    }

    /// Upstream: plugin/pkg/admission/alwayspullimages/admission.go, Validate (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        let Some(pod) = object.filter(|it| !has_old_images(request, it)) else {
            return Box::pin(ready(Ok(())));
        };
        let errors = pod.fields.map("spec").map(others).unwrap_or_default();
        let texts = errors.iter().map(|it| request.forbidden(Some(pod), it.to_string()).to_string());
        let answer = aggregate(texts.collect()).map_or(Ok(()), |text| Err(Error::Unclassified(text)));
        Box::pin(ready(answer))
    }
}

fn images(object: &Object) -> impl Iterator<Item = &str> {
    let spec = object.fields.map("spec");
    let containers = move |key| spec.into_iter().flat_map(move |it| it.maps(key));
    CONTAINERS.into_iter().flat_map(containers).map(|it| it.str("image").unwrap_or_default())
}

/// Whether the request updates a pod without adding images.
fn has_old_images(request: &Request<'_>, pod: &Object) -> bool {
    let Some(old) = request.old.filter(|_| request.operation == Operation::Update) else { return false };
    let known: HashSet<&str> = images(old).collect();
    images(pod).all(|it| known.contains(it))
}

fn pull_always(spec: &mut Map) {
    for key in CONTAINERS {
        for container in maps_mut(spec, key) {
            container.set("imagePullPolicy", ALWAYS);
        }
    }
    for volume in maps_mut(spec, "volumes") {
        if let Some(Value::Map(image)) = volume.get_mut("image") {
            image.set("pullPolicy", ALWAYS);
        }
    }
}

/// Errors for image references with another pull policy.
fn others(spec: &Map) -> FieldErrors {
    let mut errors = FieldErrors::default();
    let root = Path::root("spec");
    let mut judge = |at: &Path<'_>, field: &str, policy: Option<&str>| {
        if policy != Some(ALWAYS) {
            errors.not_supported(&at.key(field), policy.unwrap_or_default(), &[ALWAYS]);
        }
    };
    for key in CONTAINERS {
        for (index, container) in spec.maps(key).enumerate() {
            judge(&root.key(key).index(index), "imagePullPolicy", container.str("imagePullPolicy"));
        }
    }
    for (index, volume) in spec.maps("volumes").enumerate() {
        if let Some(image) = volume.map("image") {
            judge(&root.key("volumes").index(index).key("image"), "pullPolicy", image.str("pullPolicy"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::{others, pull_always};
    use crate::testing::map;

    const SPEC: &str = r#"{"initContainers":[{"name":"i"}],"containers":[{"name":"c","imagePullPolicy":"Never"}],
        "volumes":[{"name":"v","image":{"reference":"r"}},{"name":"w","emptyDir":{}}]}"#;

    #[test]
    fn every_image_is_pulled_always() {
        let mut spec = map(SPEC);
        pull_always(&mut spec);
        let expected = r#"{"initContainers":[{"name":"i","imagePullPolicy":"Always"}],
            "containers":[{"name":"c","imagePullPolicy":"Always"}],
            "volumes":[{"name":"v","image":{"reference":"r","pullPolicy":"Always"}},{"name":"w","emptyDir":{}}]}"#;
        assert_eq!(spec, map(expected));
        assert!(others(&spec).is_empty());
    }

    #[test]
    fn what_is_pulled_otherwise_is_named() {
        let errors: Vec<String> = others(&map(SPEC)).iter().map(|it| format!("{it}")).collect();
        assert_eq!(errors.len(), 3);
        assert_eq!(
            errors[1],
            r#"spec.containers[0].imagePullPolicy: Unsupported value: "Never": supported values: "Always""#
        );
    }
}
