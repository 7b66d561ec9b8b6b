//! Kind and version of a document: they must match the URL.

use keelson_object::Value;
use keelson_object::scalar::quote;
use keelson_schema::Schema;

use super::{Draft, Origin, echo, wrong_patch};
use crate::error::{Error, Result};
use crate::resource::Version;

/// The kind and version of documents at a URL.
pub struct Identity<'i> {
    /// `Deployment`.
    pub kind: &'i str,
    /// `apps`.
    pub group: &'i str,
    /// `apps/v1`.
    pub api_version: &'i str,
    /// All versions in which the kind is served.
    pub served: &'i [Version],
    /// Whether the kind is a custom resource: documents of any kind are read.
    pub is_custom: bool,
}

impl Identity<'_> {
    /// Checks the kind and version of `draft`. Both may be absent.
    pub fn check(&self, draft: &Draft) -> Result<()> {
        match draft.origin {
            Origin::Body => self.check_body(&draft.value),
            // A patch cannot change the kind; whether it is text at all is checked together with the other
            // types.
            Origin::Strategic(_) => Ok(()),
            Origin::Patch => match self.misnamed(&draft.value)? {
                Some(problem) => Err(wrong_patch(&echo(&draft.value), &problem)),
                None => Ok(()),
            },
        }
    }

    /// Upstream: apiserver/pkg/endpoints/handlers/rest.go, transformDecodeError, and update.go (v1.36.4).
    fn check_body(&self, value: &Value) -> Result<()> {
        let text = |key| value.as_map().and_then(|map| map.str(key)).filter(|it| !it.is_empty());
        let kind = text("kind").unwrap_or(self.kind);
        // A custom resource must have an apiVersion.
        let silent = if self.is_custom { "" } else { self.api_version };
        let api_version = text("apiVersion").unwrap_or(silent);
        if (self.is_custom || kind == self.kind) && api_version == self.api_version {
            return Ok(());
        }
        let (group, number) = split(api_version);
        let is_known = Schema::builtin(group, number, kind).is_some()
            || self.served.iter().any(|it| it.api_version == api_version);
        if self.is_custom || (kind == self.kind && is_known) {
            return Err(Error::BadRequest(format!(
                "the API version in the data ({api_version}) does not match the expected API version ({})",
                self.api_version
            )));
        }
        Err(Error::BadRequest(format!(
            "{kind} in version {number:?} cannot be handled as a {}: {}",
            self.kind,
            self.problem(kind, api_version)
        )))
    }

    /// Why the result of a patch cannot be an object of the kind: its kind or version is a different one.
    ///
    /// Upstream decodes the result of a patch as the kind that it names (v1.36.4).
    fn misnamed(&self, value: &Value) -> Result<Option<String>> {
        if let Some(problem) = unread(value) {
            return Ok(Some(problem));
        }
        let Value::Map(map) = value else { return Ok(None) };
        let text = |key| map.str(key).unwrap_or_default();
        let (kind, api_version) = (text("kind"), text("apiVersion"));
        let kind = if kind.is_empty() { self.kind } else { kind };
        if api_version.is_empty() {
            let name = map.map("metadata").and_then(|it| it.str("name")).unwrap_or_default();
            return if name.is_empty() {
                Ok(None)
            } else {
                Err(Error::BadRequest(format!(
                    "the name of the object ({name} based on URL) was undeterminable: name must be provided"
                )))
            };
        }
        if split(api_version).1.contains('/') {
            return Ok(Some(format!("unexpected GroupVersion string: {api_version}")));
        }
        let is_served =
            api_version == self.api_version || self.served.iter().any(|it| it.api_version == api_version);
        let is_kind = self.is_custom || kind == self.kind;
        Ok((!is_kind || !is_served).then(|| self.problem(kind, api_version)))
    }

    /// Why one kind cannot be read as another.
    fn problem(&self, kind: &str, api_version: &str) -> String {
        let (group, number) = split(api_version);
        let single = kind.strip_suffix("List").unwrap_or(kind);
        if Schema::builtin(group, number, kind).or_else(|| Schema::builtin(group, number, single)).is_none() {
            return format!(
                "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
                quote(kind),
                quote(api_version)
            );
        }
        let inside =
            if self.group.is_empty() { "core" } else { self.group.split('.').next().unwrap_or_default() };
        format!("converting ({number}.{kind}) to ({inside}.{}): unknown conversion", self.kind)
    }
}

/// Why the kind of a document is unknown: the document is not a map, or `kind` or `apiVersion` is not a string.
///
/// Upstream: apimachinery/pkg/runtime/serializer/json/meta.go, Interpret (v1.36.4).
pub fn unread(value: &Value) -> Option<String> {
    const HEAD: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let problem = |found: &Value, place: &str| {
        let found = found.json_type();
        Some(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go {place}"
        ))
    };
    let Value::Map(map) = value else { return problem(value, &format!("value of type {HEAD}")) };
    map.iter().find_map(|(key, found)| {
        let is_text = found.is_null() || found.as_str().is_some() || !matches!(&**key, "apiVersion" | "kind");
        if is_text { None } else { problem(found, &format!("struct field .{key} of type string")) }
    })
}

/// Group and number of a version.
fn split(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

#[cfg(test)]
mod tests {
    use keelson_codec::json;

    use super::{Draft, Identity, Origin};
    use crate::error::Error;

    const SCALE: Identity<'_> = Identity {
        kind: "Scale",
        group: "autoscaling",
        api_version: "autoscaling/v1",
        served: &[],
        is_custom: false,
    };

    #[track_caller]
    fn check(origin: Origin, text: &str, expected: &str) {
        let value = json::read(text.as_bytes()).unwrap().value;
        let found = match SCALE.check(&Draft { value, origin, ..Draft::default() }) {
            Ok(()) => String::new(),
            Err(Error::Invalid { errors, .. }) => errors.iter().map(|it| it.detail.to_string()).collect(),
            Err(error) => error.to_string(),
        };
        assert!(found.contains(expected) && found.is_empty() == expected.is_empty(), "{text}: {found}");
    }

    #[test]
    fn a_body_is_what_belongs_to_the_address() {
        let check = |text: &str, expected: &str| check(Origin::Body, text, expected);
        check("{}", "");
        check(r#"{"kind": "Scale"}"#, "");
        check(r#"{"kind": "Scale", "apiVersion": "autoscaling/v1"}"#, "");
        check(
            r#"{"kind": "Scale", "apiVersion": "apps/v1beta1"}"#,
            "the API version in the data (apps/v1beta1) does not match the expected API version (autoscaling/v1)",
        );
        check(
            r#"{"kind": "Scale", "apiVersion": "autoscaling/v2"}"#,
            "Scale in version \"v2\" cannot be handled as a Scale: no kind \"Scale\" is registered for version \
             \"autoscaling/v2\" in scheme \"pkg/runtime/scheme.go:111\"",
        );
        check(
            r#"{"kind": "ConfigMap", "apiVersion": "v1"}"#,
            "ConfigMap in version \"v1\" cannot be handled as a Scale: converting (v1.ConfigMap) to (autoscaling.Scale): \
             unknown conversion",
        );
        check(
            r#"{"kind": "Nope"}"#,
            "Nope in version \"v1\" cannot be handled as a Scale: no kind \"Nope\" is registered for version \
             \"autoscaling/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
        );
    }

    #[test]
    fn a_patch_makes_nothing_else() {
        let check = |text: &str, expected: &str| check(Origin::Patch, text, expected);
        check(r#"{"apiVersion": "autoscaling/v1"}"#, "");
        check(
            r#"{"kind": "Deployment", "apiVersion": "autoscaling/v1"}"#,
            "no kind \"Deployment\" is registered for version \"autoscaling/v1\"",
        );
        check(
            r#"{"kind": "Deployment", "apiVersion": "apps/v1"}"#,
            "converting (v1.Deployment) to (autoscaling.Scale): unknown conversion",
        );
        check(
            r#"{"apiVersion": 5}"#,
            "cannot unmarshal number into Go struct field .apiVersion of type string",
        );
    }
}
