//! JobValidation: the parallelism of a gang-scheduled job cannot be changed.

use keelson_object::scalar::quote;
use keelson_object::{Map, Object, Value};
use keelson_registry::Result;
use keelson_registry::admission::{Operation, Plugin, Request, Ruling};

/// The plugin.
pub(crate) struct JobValidation;

impl Plugin for JobValidation {
    fn name(&self) -> &'static str {
        "JobValidation"
    }

    fn handles(&self, request: &Request<'_>) -> bool {
        request.operation == Operation::Update && request.is_object_of("batch", "jobs")
    }

    /// Upstream: plugin/pkg/admission/job/admission.go, validateParallelismChange (v1.36.4).
    fn validate<'p>(&'p self, request: &'p Request<'_>, object: Option<&'p Object>) -> Ruling<'p> {
        Box::pin(async move {
            let (Some(job), Some(old)) = (object, request.old) else { return Ok(()) };
            let width = |it: &Object| it.fields.at("spec.parallelism").and_then(Value::as_int);
            if width(job) == width(old) {
                return Ok(());
            }
            // Without PodGroups no job is gang-scheduled.
            let Ok(groups) = request.context.reach("scheduling.k8s.io", "podgroups") else { return Ok(()) };
            let snapshot = groups.cache()?.at_hand().await;
            let all = snapshot.namespace(&request.place.namespace);
            let all = all.map(|(_, it)| groups.thaw(it)).collect::<Result<Vec<_>>>()?;
            match gang(old, &all) {
                None => Ok(()),
                Some(group) => {
                    let group = quote(&group.meta.name);
                    let reason = format!(
                        "cannot change parallelism for a Job referencing gang-scheduled PodGroup {group}"
                    );
                    Err(request.forbidden(object, reason))
                }
            }
        })
    }
}

/// The PodGroup of a job's pods: the one that its template names, or else one that it owns.
fn gang<'g>(job: &Object, groups: &'g [Object]) -> Option<&'g Object> {
    let named = job.fields.at("spec.template.spec.schedulingGroup").and_then(Value::as_map);
    let named = named.and_then(|it: &Map| it.str("podGroupName"));
    let is_its = |group: &Object| match named {
        Some(name) => group.meta.name == name,
        None => {
            group.meta.owner_references.iter().any(|it| it.controller == Some(true) && it.uid == job.meta.uid)
        }
    };
    let is_gang =
        |group: &Object| group.fields.at("spec.schedulingPolicy.gang").is_some_and(|it| !it.is_null());
    groups.iter().find(|it| is_its(it) && is_gang(it))
}

#[cfg(test)]
mod tests {
    use super::gang;
    use crate::testing::object;

    fn group(name: &str, owner: &str, policy: &str) -> String {
        let owner = format!(
            r#"{{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"{owner}","controller":true}}"#
        );
        format!(
            r#"{{"metadata":{{"name":"{name}","ownerReferences":[{owner}]}},"spec":{{"schedulingPolicy":{{"{policy}":{{}}}}}}}}"#
        )
    }

    #[track_caller]
    fn check(template: &str, groups: &[String], expected: Option<&str>) {
        let job =
            object(&format!(r#"{{"metadata":{{"uid":"u"}},"spec":{{"template":{{"spec":{template}}}}}}}"#));
        let groups: Vec<_> = groups.iter().map(|it| object(it)).collect();
        assert_eq!(gang(&job, &groups).map(|it| it.meta.name.as_str()), expected);
    }

    #[test]
    fn a_gang_is_named_or_owned() {
        let named = r#"{"schedulingGroup":{"podGroupName":"g"}}"#;
        check("{}", &[], None);
        check(named, &[group("g", "x", "gang")], Some("g"));
        check(named, &[group("g", "x", "basic"), group("h", "u", "gang")], None);
        check("{}", &[group("g", "x", "gang"), group("h", "u", "gang")], Some("h"));
        check("{}", &[group("h", "u", "basic")], None);
    }
}
