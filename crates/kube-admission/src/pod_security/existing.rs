//! Existing pods: which of them violate a stricter standard, and which updates must be evaluated.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use keelson_object::{Frozen, Map, Object};
use keelson_registry::Result;
use keelson_registry::admission::Request;
use keelson_stdx::offload::Breaks;

use super::PodSecurity;
use super::checks::{self, Pod};
use super::policy::Standard;

/// The limits of the check of existing pods: their number, and the time.
const MOST_PODS: usize = 3000;
const LONGEST: Duration = Duration::from_secs(1);

impl PodSecurity {
    /// Warns of pods that would not come in under `standard`.
    ///
    /// Upstream: staging/src/k8s.io/pod-security-admission/admission/admission.go, EvaluatePodsInNamespace (v1.36.4).
    pub(super) async fn look_at_existing(
        &self,
        request: &Request<'_>,
        namespace: &str,
        standard: Standard,
    ) -> Result<()> {
        let context = request.context;
        let live = context.reach("", "pods")?;
        let snapshot = live.cache()?.fresh().await?;
        let pods: Vec<&Arc<Frozen>> = snapshot.namespace(namespace).map(|(_, it)| it).collect();
        let mut review = Review { security: self, standard, looked_at: 0, exempt: 0, found: BTreeMap::new() };
        let ends = context.clock.monotonic() + LONGEST;
        // Pods of one owner are alike: those beyond the first come last.
        let (mut owners, mut alike) = (HashSet::new(), Vec::new());
        let mut breaks = Breaks::default();
        for frozen in &pods {
            breaks.count(frozen.json().len()).await;
            let pod = live.thaw(frozen)?;
            let controller = pod.meta.owner_references.iter().find(|it| it.controller == Some(true));
            if controller.is_some_and(|it| !owners.insert(it.uid.clone())) {
                alike.push(frozen);
            } else {
                review.look_at(&pod);
            }
            if context.clock.monotonic() > ends {
                break;
            }
        }
        for frozen in alike {
            if context.clock.monotonic() > ends {
                break;
            }
            breaks.count(frozen.json().len()).await;
            review.look_at(&live.thaw(frozen)?);
        }
        let Review { looked_at, exempt, found, .. } = review;
        let total = pods.len() - exempt;
        if looked_at < total {
            context.warn(format!(
                "new PodSecurity enforce level only checked against the first {looked_at} of {total} existing pods"
            ));
        }
        if !found.is_empty() {
            context.warn(format!(
                "existing pods in namespace \"{namespace}\" violate the new PodSecurity enforce level \"{standard}\""
            ));
        }
        let mut warnings: Vec<String> = found.into_iter().map(described).collect();
        warnings.sort();
        warnings.into_iter().for_each(|it| context.warn(it));
        Ok(())
    }
}

/// The findings so far.
struct Review<'r> {
    security: &'r PodSecurity,
    standard: Standard,
    looked_at: usize,
    exempt: usize,
    /// By violations: the first pod that has them, and the number of such pods.
    found: BTreeMap<String, (String, usize)>,
}

impl Review<'_> {
    fn look_at(&mut self, pod: &Object) {
        let Some(spec) = pod.fields.map("spec") else { return };
        if self.security.configuration.exempts_runtime(spec) {
            self.exempt += 1;
            return;
        }
        if self.looked_at == MOST_PODS {
            return;
        }
        self.looked_at += 1;
        let problems = checks::check(self.standard, &Pod { annotations: &pod.meta.annotations, spec });
        if !problems.is_empty() {
            let name = pod.meta.name.to_string();
            let (first, count) = self.found.entry(checks::brief(&problems)).or_insert((name.clone(), 0));
            *first = name.min(std::mem::take(first));
            *count += 1;
        }
    }
}

/// `a (and 2 other pods): hostPort`
fn described((problems, (first, count)): (String, (String, usize))) -> String {
    match count {
        1 => format!("{first}: {problems}"),
        2 => format!("{first} (and 1 other pod): {problems}"),
        _ => format!("{first} (and {} other pods): {problems}", count - 1),
    }
}

/// Whether an update of a pod must be evaluated again, for example because of other images.
///
/// Upstream: staging/src/k8s.io/pod-security-admission/admission/admission.go, isSignificantPodUpdate (v1.36.4).
pub(super) fn is_significant(old: &Object, new: &Object) -> bool {
    let (Some(old), Some(new)) = (old.fields.map("spec"), new.fields.map("spec")) else { return true };
    let image = |it: &Map| it.str("image").unwrap_or_default().to_owned();
    let differs = |key: &str| {
        new.list(key).len() != old.list(key).len()
            || new.maps(key).zip(old.maps(key)).any(|(new, old)| image(new) != image(old))
    };
    let name = |it: &Map| it.str("name").unwrap_or_default().to_owned();
    let before = |container: &Map| old.maps("ephemeralContainers").find(|it| name(it) == name(container));
    let mut added = new.maps("ephemeralContainers");
    differs("containers")
        || differs("initContainers")
        || added.any(|it| before(it).is_none_or(|old| image(old) != image(it)))
}

#[cfg(test)]
mod tests {
    use super::{described, is_significant};
    use crate::testing::object;

    #[track_caller]
    fn check(old: &str, new: &str, expected: bool) {
        let pod = |spec: &str| object(&format!(r#"{{"spec":{spec}}}"#));
        assert_eq!(is_significant(&pod(old), &pod(new)), expected);
    }

    #[test]
    fn other_images_matter() {
        let one = r#"{"containers":[{"name":"a","image":"i"}]}"#;
        check(one, one, false);
        check(one, r#"{"containers":[{"name":"b","image":"i"}],"activeDeadlineSeconds":1}"#, false);
        check(one, r#"{"containers":[{"name":"a","image":"j"}]}"#, true);
        check(one, r#"{"containers":[]}"#, true);
        let more =
            r#"{"containers":[{"name":"a","image":"i"}],"ephemeralContainers":[{"name":"e","image":"i"}]}"#;
        check(one, more, true);
        check(more, more, false);
    }

    #[test]
    fn pods_are_counted() {
        let said = |count| described(("privileged".to_owned(), ("a".to_owned(), count)));
        assert_eq!(said(1), "a: privileged");
        assert_eq!(said(2), "a (and 1 other pod): privileged");
        assert_eq!(said(4), "a (and 3 other pods): privileged");
    }
}
