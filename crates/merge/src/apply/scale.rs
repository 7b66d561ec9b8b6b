//! The managers of a scale, which is one field of another object.
//!
//! ```text
//! deployment  hpa (Update, apps/v1) owns .spec.replicas and .spec.paused
//! scale       hpa (Update, autoscaling/v1) owns .spec.replicas
//! ```
//!
//! Upstream: apimachinery/pkg/util/managedfields/scalehandler.go (v1.36.4).

use keelson_object::{SmolStr, Value};

use super::Refusal;
use super::field_set::FieldSet;
use super::managers::{Managed, Managers};

/// The version of scales.
const SCALE: &str = "autoscaling/v1";

/// The field of a scale.
const SCALE_REPLICAS: &str = "spec.replicas";

/// By version of an object that can be scaled, the path of its replicas: `apps/v1`, `spec.replicas`.
pub type ReplicasPaths<'p> = [(&'p str, &'p str)];

/// The managers that own the replicas of an object, as managers of its scale.
pub fn managers_of_scale(parent: &[Value], paths: &ReplicasPaths<'_>) -> Result<Vec<Value>, Refusal> {
    let mut managers = Managers::from_entries(parent.to_vec())?;
    managers.0.retain(|it| replicas(paths, &it.api_version).is_some_and(|path| owns(&it.fields, path)));
    for managed in &mut managers.0 {
        managed.api_version = SmolStr::new_static(SCALE);
        managed.fields = FieldSet::of_fields(&[SCALE_REPLICAS]);
    }
    Ok(managers.into_entries())
}

/// The managers of an object after its scale was written in the version `api_version`: `scale` are those of the scale.
///
/// Who updates a scale is another manager there than at the object, because the version is another. So it loses the
/// replicas and gets them back without a time.
pub fn managers_of_scaled(
    parent: &[Value],
    scale: &[Value],
    api_version: &str,
    paths: &ReplicasPaths<'_>,
) -> Result<Vec<Value>, Refusal> {
    let (parent, mut scale) =
        (Managers::from_entries(parent.to_vec())?, Managers::from_entries(scale.to_vec())?);
    let times: Vec<_> = parent.0.iter().map(|it| (it.id.clone(), it.time)).collect();
    let mut managers = Managers::default();
    for mut managed in parent.0 {
        let Some(path) = replicas(paths, &managed.api_version) else { continue };
        if owns(&managed.fields, path) && scale.remove(&managed.id).is_none() {
            managed.fields = managed.fields.difference(&FieldSet::of_fields(&[path]));
        }
        if !managed.fields.is_empty() {
            managers.0.push(managed);
        }
    }
    let Some(path) = replicas(paths, api_version) else { return Ok(managers.into_entries()) };
    for managed in scale.0.into_iter().filter(|it| owns(&it.fields, SCALE_REPLICAS)) {
        let time = times.iter().find(|(id, _)| *id == managed.id).and_then(|(_, time)| *time);
        let fields = FieldSet::of_fields(&[path]);
        managers.0.retain(|it| it.id != managed.id);
        managers.0.push(Managed {
            id: managed.id,
            api_version: api_version.into(),
            time,
            fields,
            read: None,
        });
    }
    Ok(managers.into_entries())
}

fn replicas<'p>(paths: &ReplicasPaths<'p>, api_version: &str) -> Option<&'p str> {
    paths.iter().find(|(version, _)| *version == api_version).map(|(_, path)| *path)
}

fn owns(fields: &FieldSet, path: &str) -> bool {
    FieldSet::of_fields(&[path]).is_subset(fields)
}

#[cfg(test)]
mod tests {
    use super::{managers_of_scale, managers_of_scaled};
    use keelson_codec::json;
    use keelson_object::Value;

    const PATHS: [(&str, &str); 1] = [("apps/v1", "spec.replicas")];

    /// `name operation version fields` of each manager.
    fn entries(of: &[(&str, &str, &str, &str)]) -> Vec<Value> {
        let entry = |(name, operation, version, fields): &(&str, &str, &str, &str)| {
            let text = format!(
                r#"{{"manager":"{name}","operation":"{operation}","apiVersion":"{version}","time":"2024-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{fields}}}"#
            );
            json::read(text.as_bytes()).unwrap().value
        };
        of.iter().map(entry).collect()
    }

    fn shown(entries: &[Value]) -> Vec<String> {
        let shown = |entry: &Value| {
            let map = entry.as_map().unwrap();
            let text = |key: &str| map.str(key).unwrap_or("-").to_owned();
            let fields = String::from_utf8(json::to_bytes(map.get("fieldsV1").unwrap()).to_vec()).unwrap();
            let time = if map.contains("time") { "timed" } else { "-" };
            format!("{} {} {} {time} {fields}", text("manager"), text("operation"), text("apiVersion"))
        };
        entries.iter().map(shown).collect()
    }

    const BOTH: &str = r#"{"f:spec":{"f:paused":{},"f:replicas":{}}}"#;
    const REPLICAS: &str = r#"{"f:spec":{"f:replicas":{}}}"#;

    #[test]
    fn a_scale_has_the_managers_of_the_replicas() {
        let parent = entries(&[
            ("a", "Apply", "apps/v1", BOTH),
            ("b", "Apply", "apps/v1", r#"{"f:spec":{"f:paused":{}}}"#),
            ("c", "Update", "apps/v1", REPLICAS),
            ("d", "Update", "apps/v0", REPLICAS),
        ]);
        assert_eq!(
            shown(&managers_of_scale(&parent, &PATHS).unwrap()),
            [
                format!("a Apply autoscaling/v1 timed {REPLICAS}"),
                format!("c Update autoscaling/v1 timed {REPLICAS}")
            ]
        );
    }

    #[test]
    fn who_scales_gets_the_replicas_from_the_others() {
        let parent = entries(&[
            ("a", "Apply", "apps/v1", BOTH),
            ("b", "Update", "apps/v1", REPLICAS),
            ("d", "Update", "apps/v0", REPLICAS),
        ]);
        let check = |scale: &[(&str, &str, &str, &str)], expected: &[&str]| {
            let managers = managers_of_scaled(&parent, &entries(scale), "apps/v1", &PATHS).unwrap();
            assert_eq!(shown(&managers), expected);
        };
        let paused = r#"a Apply apps/v1 timed {"f:spec":{"f:paused":{}}}"#;
        check(
            &[("hpa", "Update", "autoscaling/v1", REPLICAS)],
            &[paused, &format!("hpa Update apps/v1 - {REPLICAS}")],
        );
        check(
            &[("a", "Apply", "autoscaling/v1", REPLICAS), ("b", "Update", "autoscaling/v1", REPLICAS)],
            &[&format!("a Apply apps/v1 timed {BOTH}"), &format!("b Update apps/v1 - {REPLICAS}")],
        );
        check(&[], &[paused]);
    }
}
