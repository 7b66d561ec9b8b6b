//! DefaultTolerationSeconds: how long a pod stays on a node that is not ready or cannot be reached.

use std::future::ready;

use keelson_object::{Map, Object, Value};
use keelson_registry::admission::{Plugin, Request, Ruling};

use crate::plugins::Settings;
use crate::pods::{Toleration, tolerations};

/// The plugin.
pub(crate) struct DefaultTolerationSeconds([Toleration<'static>; 2]);

impl DefaultTolerationSeconds {
    /// A plugin with the operator's settings.
    pub(crate) fn new(settings: &Settings) -> DefaultTolerationSeconds {
        let toleration = |key, seconds| Toleration {
            key,
            operator: "Exists",
            value: "",
            effect: "NoExecute",
            seconds: Some(seconds),
        };
        DefaultTolerationSeconds([
            toleration("node.kubernetes.io/not-ready", settings.not_ready_toleration_seconds),
            toleration("node.kubernetes.io/unreachable", settings.unreachable_toleration_seconds),
        ])
    }

    fn add(&self, spec: &mut Map) {
        let tolerates = |spec: &Map, key: &str| {
            let is_for = |it: Toleration<'_>| {
                (it.key.is_empty() || it.key == key) && (it.effect.is_empty() || it.effect == "NoExecute")
            };
            spec.list("tolerations").iter().map(Toleration::read).any(is_for)
        };
        let missing: Vec<Value> =
            self.0.iter().filter(|it| !tolerates(spec, it.key)).map(|it| it.to_value()).collect();
        if !missing.is_empty() {
            tolerations(spec).extend(missing);
        }
    }
}

impl Plugin for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.is_write() && request.is_object_of("", "pods")
    }

    /// Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go, Admit (v1.36.4).
    fn mutate<'p>(&'p self, _request: &'p Request<'_>, object: Option<&'p mut Object>) -> Ruling<'p> {
        if let Some(pod) = object {
            self.add(pod.fields.map_mut("spec"));
        }
        Box::pin(ready(Ok(())))
    }
}

#[cfg(test)]
mod tests {
    use super::DefaultTolerationSeconds;
    use crate::plugins::Settings;
    use crate::testing::map;

    #[track_caller]
    fn check(before: &str, added: &[&str]) {
        let settings = Settings { not_ready_toleration_seconds: 7, ..Settings::default() };
        let mut spec = map(before);
        let had = spec.list("tolerations").len();
        DefaultTolerationSeconds::new(&settings).add(&mut spec);
        let seen = spec.maps("tolerations").skip(had);
        let seen =
            seen.map(|it| format!("{} {:?}", it.str("key").unwrap_or(""), it.int("tolerationSeconds")));
        assert_eq!(seen.collect::<Vec<_>>(), added);
    }

    #[test]
    fn what_a_pod_does_not_tolerate_by_itself_is_added() {
        let (ready, reach) =
            ("node.kubernetes.io/not-ready Some(7)", "node.kubernetes.io/unreachable Some(300)");
        check("{}", &[ready, reach]);
        check(r#"{"tolerations":[{"key":"x","operator":"Exists"}]}"#, &[ready, reach]);
        check(r#"{"tolerations":[{"operator":"Exists"}]}"#, &[]);
        check(r#"{"tolerations":[{"operator":"Exists","effect":"NoSchedule"}]}"#, &[ready, reach]);
        check(r#"{"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists"}]}"#, &[reach]);
    }
}
