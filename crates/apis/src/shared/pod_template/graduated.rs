//! Features of pods that v1.36 has for good and an emulated version may not have, whose fields cannot simply be
//! dropped.
//!
//! Upstream: pkg/api/pod/util.go, dropImageVolumes, dropPodLifecycleSleepAction and dropDisabledProcMountField
//! (v1.36.4).

use keelson_object::{Map, Value};

use super::CONTAINER_LISTS;
use crate::catalog::Settings;
use crate::shared::edit::{part, parts};

const DEFAULT_PROC_MOUNT: &str = "Default";
const HOOKS: [&str; 2] = ["postStart", "preStop"];

/// The missing features.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missing {
    image_volumes: bool,
    sleep: bool,
    proc_mount: bool,
}

impl Missing {
    pub(super) fn of(settings: &Settings) -> Missing {
        Missing {
            image_volumes: settings.is_missing("ImageVolume"),
            sleep: settings.is_missing("PodLifecycleSleepAction"),
            proc_mount: settings.is_missing("ProcMountType"),
        }
    }

    /// Removes missing features from the spec of a pod, unless the old one used them.
    pub(super) fn drop_new(self, spec: &mut Map, old: Option<&Map>) {
        let is_new = |is_used: fn(&Map) -> bool| !old.is_some_and(is_used);
        if self.image_volumes && is_new(has_image_volume) {
            drop_image_volumes(spec);
        }
        if self.sleep && is_new(has_sleep) {
            each_container(spec, drop_sleep);
        }
        if self.proc_mount && is_new(has_proc_mount) {
            each_container(spec, reset_proc_mount);
        }
    }
}

fn each_container(spec: &mut Map, edit: fn(&mut Map)) {
    for list in CONTAINER_LISTS {
        parts(spec, list).for_each(edit);
    }
}

fn containers(spec: &Map) -> impl Iterator<Item = &Map> {
    CONTAINER_LISTS.iter().flat_map(|list| spec.maps(list))
}

fn has_image_volume(spec: &Map) -> bool {
    spec.maps("volumes").any(|it| it.map("image").is_some())
}

/// Removes the volumes and their mounts.
fn drop_image_volumes(spec: &mut Map) {
    let name = |it: &Map| it.str("name").unwrap_or_default().to_owned();
    let gone: Vec<String> = spec.maps("volumes").filter(|it| it.map("image").is_some()).map(name).collect();
    if gone.is_empty() {
        return;
    }
    retain(spec, "volumes", |it| it.map("image").is_none());
    for list in CONTAINER_LISTS {
        for container in parts(spec, list) {
            retain(container, "volumeMounts", |it| !gone.contains(&name(it)));
        }
    }
}

/// A list that has become empty is removed as well.
fn retain(map: &mut Map, key: &str, is_kept: impl Fn(&Map) -> bool) {
    let Some(Value::List(items)) = map.get_mut(key) else { return };
    items.retain(|it| it.as_map().is_none_or(&is_kept));
    if items.is_empty() {
        map.remove(key);
    }
}

fn has_sleep(spec: &Map) -> bool {
    let hooks = |lifecycle: &Map| HOOKS.iter().any(|it| sleeps(lifecycle, it));
    containers(spec).filter_map(|it| it.map("lifecycle")).any(hooks)
}

fn sleeps(lifecycle: &Map, hook: &str) -> bool {
    lifecycle.map(hook).is_some_and(|it| it.map("sleep").is_some())
}

/// A hook that has become empty is removed.
fn drop_sleep(container: &mut Map) {
    let Some(lifecycle) = part(container, "lifecycle") else { return };
    for hook in HOOKS {
        if !sleeps(lifecycle, hook) {
            continue;
        }
        let handler = lifecycle.map_mut(hook);
        handler.remove("sleep");
        if !["exec", "httpGet", "tcpSocket"].iter().any(|it| handler.contains(it)) {
            lifecycle.remove(hook);
        }
    }
}

fn proc_mount(container: &Map) -> Option<&str> {
    container.map("securityContext").and_then(|it| it.str("procMount"))
}

fn has_proc_mount(spec: &Map) -> bool {
    containers(spec).filter_map(proc_mount).any(|it| it != DEFAULT_PROC_MOUNT)
}

fn reset_proc_mount(container: &mut Map) {
    if proc_mount(container).is_some() {
        container.map_mut("securityContext").set("procMount", DEFAULT_PROC_MOUNT);
    }
}

#[cfg(test)]
mod tests {
    use super::Missing;
    use crate::catalog::Settings;
    use crate::shared::testing::{text, tree};

    /// Checks a new spec while `feature` is missing; that the feature stays where it was used, and where
    /// nothing is missing.
    #[track_caller]
    fn check(feature: &str, spec: &str, expected: &str) {
        let map = |text: &str| tree(text).as_map().cloned().expect("a map");
        let after = |off: &[&str], old: Option<&str>| {
            let off = off.iter().map(|it| (*it).to_owned()).collect();
            let mut new = map(spec);
            let missing = Missing::of(&Settings { off, ..Settings::default() });
            missing.drop_new(&mut new, old.map(map).as_ref());
            text(&new.into())
        };
        assert_eq!(after(&[feature], None), text(&tree(expected)));
        assert_eq!(after(&[feature], Some(spec)), text(&tree(spec)), "it was used before");
        assert_eq!(after(&[], None), text(&tree(spec)), "v1.36 has it for good");
    }

    #[test]
    fn image_volumes_go_with_their_mounts() {
        check(
            "ImageVolume",
            r#"{"volumes": [{"name": "a", "image": {"reference": "r"}}, {"name": "b", "emptyDir": {}}],
                "containers": [{"name": "c", "volumeMounts": [{"name": "a"}, {"name": "b"}]}],
                "initContainers": [{"name": "i", "volumeMounts": [{"name": "a"}]}]}"#,
            r#"{"volumes": [{"name": "b", "emptyDir": {}}],
                "containers": [{"name": "c", "volumeMounts": [{"name": "b"}]}],
                "initContainers": [{"name": "i"}]}"#,
        );
    }

    #[test]
    fn hooks_that_only_sleep_go() {
        check(
            "PodLifecycleSleepAction",
            r#"{"containers": [{"lifecycle": {"preStop": {"sleep": {"seconds": 1}}, "stopSignal": "SIGTERM"}},
                {"lifecycle": {"postStart": {"sleep": {"seconds": 1}, "exec": {}}}}]}"#,
            r#"{"containers": [{"lifecycle": {"stopSignal": "SIGTERM"}}, {"lifecycle": {"postStart": {"exec": {}}}}]}"#,
        );
    }

    #[test]
    fn proc_is_mounted_as_ever() {
        check(
            "ProcMountType",
            r#"{"containers": [{"securityContext": {"procMount": "Unmasked"}}, {"securityContext": {}}]}"#,
            r#"{"containers": [{"securityContext": {"procMount": "Default"}}, {"securityContext": {}}]}"#,
        );
    }
}
