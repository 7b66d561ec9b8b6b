//! DeleteOptions: from the query, or from the body.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/delete.go and ValidateDeleteOptions (v1.36.4).

use keelson_object::scalar::quote;
use keelson_object::{FieldErrors, Map, Path, SmolStr, Value};
use keelson_registry::DryRun;
use keelson_registry::operation::IGNORE_READ_ERROR;
use keelson_registry::options::{DeleteOptions, Preconditions, Propagation};

use super::write::dry_run;
use super::{number, refuse_if_any};
use crate::error::{Error, Result};
use crate::openapi::Offered;
use crate::query::Query;

/// The options of a delete.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteParams {
    /// The options for the engine.
    pub(crate) options: DeleteOptions,
    /// Whether it is a dry run.
    pub(crate) dry_run: DryRun,
    /// The deprecated form of propagation; `Some(false)` changes the status code of the response.
    pub(crate) orphan_dependents: Option<bool>,
    /// Whether the request is for an unreadable object.
    pub(crate) unreadable: Unreadable,
    /// The options as they were sent, for admission.
    pub(crate) sent: Map,
}

/// Whether the request is for an unreadable object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It is an ordinary delete.
    #[default]
    No,
    /// Only an unreadable object is to be deleted.
    Meant,
}

/// The parsed options, not yet validated.
#[derive(Default)]
struct Raw {
    grace_seconds: Option<i64>,
    orphan_dependents: Option<bool>,
    propagation: Option<String>,
    dry_run: Vec<String>,
    preconditions: Preconditions,
    has_preconditions: bool,
    ignore_read_error: bool,
}

/// The options of a delete without a body.
pub(crate) fn from_query(query: &Query<'_>, unreadable: Offered) -> Result<DeleteParams> {
    let text = |key| query.get(key).filter(|it| !it.is_empty()).map(SmolStr::new);
    judge(Raw {
        grace_seconds: number(query, "gracePeriodSeconds")?,
        orphan_dependents: query.switch("orphanDependents"),
        propagation: query.get("propagationPolicy").map(str::to_owned),
        dry_run: query.all("dryRun").map(str::to_owned).collect(),
        preconditions: Preconditions { uid: text("uid"), resource_version: text("resourceVersion") },
        has_preconditions: text("uid").or(text("resourceVersion")).is_some(),
        ignore_read_error: unreadable == Offered::Yes && query.switch(IGNORE_READ_ERROR).unwrap_or(false),
    })
}

/// The options of a delete with a body; the query is then ignored.
pub(crate) fn from_body(body: &Value, unreadable: Offered) -> Result<DeleteParams> {
    let mut raw = Raw::default();
    let map = match body {
        Value::Null => return judge(raw),
        Value::Map(map) => map,
        other => {
            return Err(no_kind(&format!(
                "cannot unmarshal {} into Go value of type struct {{ APIVersion string \
                 \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
                other.json_type()
            )));
        }
    };
    check_kind(map)?;
    for (key, value) in map.iter().filter(|(_, value)| !value.is_null()) {
        match key.as_str() {
            "gracePeriodSeconds" => {
                raw.grace_seconds = Some(value.as_int().ok_or_else(|| wrong(key, value, "int64"))?);
            }
            "orphanDependents" => {
                raw.orphan_dependents = Some(value.as_bool().ok_or_else(|| wrong(key, value, "bool"))?);
            }
            "propagationPolicy" => {
                raw.propagation = Some(
                    value.as_str().ok_or_else(|| wrong(key, value, "v1.DeletionPropagation"))?.to_owned(),
                );
            }
            "dryRun" => {
                let items = value.as_list().ok_or_else(|| wrong(key, value, "[]string"))?;
                for item in items {
                    raw.dry_run.push(item.as_str().ok_or_else(|| wrong(key, item, "string"))?.to_owned());
                }
            }
            "preconditions" => {
                let conditions = value.as_map().ok_or_else(|| wrong(key, value, "v1.Preconditions"))?;
                raw.has_preconditions = true;
                raw.preconditions = Preconditions {
                    uid: condition(conditions, "uid", "types.UID")?,
                    resource_version: condition(conditions, "resourceVersion", "string")?,
                };
            }
            IGNORE_READ_ERROR => {
                let is_set = value.as_bool().ok_or_else(|| wrong(key, value, "bool"))?;
                // If the gate is off, the option is parsed and ignored.
                raw.ignore_read_error = is_set && unreadable == Offered::Yes;
            }
            _ => {}
        }
    }
    judge(raw)
}

/// A field of the wrong type, in Go's words.
fn wrong(field: &str, value: &Value, wanted: &str) -> Error {
    // The error shows a number of the right type that is out of range.
    let shown = match value {
        Value::Float(_) if wanted == "int64" => {
            format!(" {}", String::from_utf8_lossy(&keelson_codec::json::to_bytes(value)))
        }
        _ => String::new(),
    };
    let holder = if field.contains('.') { "Preconditions" } else { "DeleteOptions" };
    Error::BadRequest(format!(
        "json: cannot unmarshal {}{shown} into Go struct field {holder}.{field} of type {wanted}",
        value.json_type()
    ))
}

fn condition(conditions: &Map, key: &str, wanted: &str) -> Result<Option<SmolStr>> {
    match conditions.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let text = value.as_str().ok_or_else(|| wrong(&format!("preconditions.{key}"), value, wanted))?;
            Ok(Some(SmolStr::new(text)))
        }
    }
}

fn no_kind(problem: &str) -> Error {
    Error::BadRequest(format!("couldn't get version/kind; json parse error: json: {problem}"))
}

/// Old clients send the options in the group of the resource; the kind is what matters.
fn check_kind(map: &Map) -> Result<()> {
    let text = |key| match map.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(value) => value.as_str().ok_or_else(|| {
            no_kind(&format!(
                "cannot unmarshal {} into Go struct field .{key} of type string",
                value.json_type()
            ))
        }),
    };
    let (version, kind) = (text("apiVersion")?, text("kind")?);
    if version.matches('/').count() > 1 {
        return Err(Error::BadRequest(format!("unexpected GroupVersion string: {version}")));
    }
    if kind.is_empty() || kind == "DeleteOptions" {
        return Ok(());
    }
    let version = if version.is_empty() { "meta.k8s.io/v1" } else { version };
    Err(Error::BadRequest(format!(
        "no kind {} is registered for version {} in scheme \"pkg/runtime/scheme.go:111\"",
        quote(kind),
        quote(version)
    )))
}

fn judge(raw: Raw) -> Result<DeleteParams> {
    let mut errors = FieldErrors::default();
    let at = Path::root("propagationPolicy");
    if let (Some(_), Some(policy)) = (raw.orphan_dependents, &raw.propagation) {
        errors.invalid(&at, policy.as_str(), "orphanDependents and deletionPropagation cannot be both set");
    }
    let propagation = match raw.propagation.as_deref() {
        None => match raw.orphan_dependents {
            Some(true) => Some(Propagation::Orphan),
            Some(false) => Some(Propagation::Background),
            None => None,
        },
        Some("Foreground") => Some(Propagation::Foreground),
        Some("Background") => Some(Propagation::Background),
        Some("Orphan") => Some(Propagation::Orphan),
        Some(other) => {
            errors.not_supported(&at, other, &["Foreground", "Background", "Orphan", "nil"]);
            None
        }
    };
    let dry_run = dry_run(raw.dry_run.iter().map(String::as_str), &mut errors);
    let unreadable = if raw.ignore_read_error { Unreadable::Meant } else { Unreadable::No };
    if raw.ignore_read_error {
        judge_unreadable(&raw, &mut errors);
    }
    refuse_if_any("DeleteOptions", errors)?;
    let sent = raw.shown();
    let options =
        DeleteOptions { grace_seconds: raw.grace_seconds, preconditions: raw.preconditions, propagation };
    Ok(DeleteParams { options, dry_run, orphan_dependents: raw.orphan_dependents, unreadable, sent })
}

impl Raw {
    /// The fields of a DeleteOptions object.
    fn shown(&self) -> Map {
        let mut map = Map::new();
        let mut push = |key: &'static str, value: Option<Value>| {
            if let Some(value) = value {
                map.push_new(key, value);
            }
        };
        push("gracePeriodSeconds", self.grace_seconds.map(Value::from));
        let mut preconditions = Map::new();
        let Preconditions { uid, resource_version } = &self.preconditions;
        for (key, text) in [("uid", uid), ("resourceVersion", resource_version)] {
            if let Some(text) = text {
                preconditions.push_new(key, text.clone());
            }
        }
        push("preconditions", self.has_preconditions.then(|| preconditions.into()));
        push("orphanDependents", self.orphan_dependents.map(Value::from));
        push("propagationPolicy", self.propagation.as_deref().map(Value::from));
        let dry_run: Vec<Value> = self.dry_run.iter().map(|it| Value::from(it.as_str())).collect();
        push("dryRun", (!dry_run.is_empty()).then(|| dry_run.into()));
        push(IGNORE_READ_ERROR, self.ignore_read_error.then(|| true.into()));
        map
    }
}

/// Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, ValidateIgnoreStoreReadError (v1.36.4).
fn judge_unreadable(raw: &Raw, errors: &mut FieldErrors) {
    for (is_set, name) in [
        (!raw.dry_run.is_empty(), "dryRun"),
        (raw.propagation.is_some(), "propagationPolicy"),
        (raw.orphan_dependents.is_some(), "orphanDependents"),
        (raw.grace_seconds.is_some(), "gracePeriodSeconds"),
        (raw.has_preconditions, "preconditions"),
    ] {
        if is_set {
            let problem = format!("cannot be set together with .{name}");
            errors.invalid(&Path::root(IGNORE_READ_ERROR), true, &problem);
        }
    }
}

/// A collection cannot be deleted with this option.
pub(crate) fn refuse_unreadable(params: &DeleteParams) -> Result<()> {
    let mut errors = FieldErrors::default();
    if params.unreadable == Unreadable::Meant {
        let problem = "is not allowed with DELETECOLLECTION, try again after removing the option";
        errors.invalid(&Path::root(IGNORE_READ_ERROR), true, problem);
    }
    refuse_if_any("DeleteOptions", errors)
}

#[cfg(test)]
mod tests {
    use super::{
        DeleteParams, IGNORE_READ_ERROR, Offered, Unreadable, from_body, from_query, refuse_unreadable,
    };
    use crate::error::{Error, Result};
    use crate::query::Query;

    fn text(params: Result<DeleteParams>) -> String {
        match params {
            Ok(it) => format!(
                "{:?} {:?} {:?} {:?}",
                it.options.grace_seconds, it.options.propagation, it.options.preconditions.uid, it.dry_run
            ),
            Err(Error::InvalidOptions { errors, .. }) => errors.to_text(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_cannot_be_read_is_deleted_as_it_is() {
        let query = format!("{IGNORE_READ_ERROR}=true");
        let open = from_query(&Query::parse(&query), Offered::Yes).unwrap();
        let shut = from_query(&Query::parse(&query), Offered::No).unwrap();
        assert_eq!((open.unreadable, shut.unreadable), (Unreadable::Meant, Unreadable::No));
        assert!(refuse_unreadable(&open).is_err() && refuse_unreadable(&shut).is_ok());
        let word =
            |it: &str| format!("{IGNORE_READ_ERROR}: Invalid value: true: cannot be set together with .{it}");
        check_query(&format!("{query}&dryRun=All"), &word("dryRun"));
        let both = format!("{}\n{}", word("gracePeriodSeconds"), word("preconditions"));
        check_query(&format!("{query}&gracePeriodSeconds=0&uid=x"), &both);
    }

    #[track_caller]
    fn check_query(query: &str, expected: &str) {
        assert_eq!(text(from_query(&Query::parse(query), Offered::Yes)), expected, "{query}");
    }

    #[track_caller]
    fn check_body(body: &str, expected: &str) {
        let value = keelson_codec::json::read(body.as_bytes()).unwrap().value;
        assert_eq!(text(from_body(&value, Offered::Yes)), expected, "{body}");
    }

    #[test]
    fn queries_are_judged() {
        check_query("", "None None None Off");
        check_query("gracePeriodSeconds=5&propagationPolicy=Foreground", "Some(5) Some(Foreground) None Off");
        check_query("orphanDependents=true&dryRun=All", "None Some(Orphan) None All");
        check_query("uid=a", "None None Some(\"a\") Off");
        check_query("gracePeriodSeconds=x", "strconv.ParseInt: parsing \"x\": invalid syntax");
        check_query(
            "propagationPolicy=Foo",
            "propagationPolicy: Unsupported value: \"Foo\": supported values: \"Foreground\", \"Background\", \
             \"Orphan\", \"nil\"",
        );
        check_query(
            "propagationPolicy=Orphan&orphanDependents=true",
            "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set",
        );
    }

    #[test]
    fn bodies_are_judged() {
        check_body(
            r#"{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}"#,
            "Some(0) None None Off",
        );
        check_body(r#"{"preconditions":{"uid":"a"},"dryRun":["All"]}"#, "None None Some(\"a\") All");
        check_body(r#"{"gracePeriodSeconds":null}"#, "None None None Off");
        check_body(
            r#"{"gracePeriodSeconds":"x"}"#,
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
        );
        check_body("null", "None None None Off");
        for (body, expected) in [
            (
                r#"{"kind":"Foo","apiVersion":"v1"}"#,
                r#"no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111""#,
            ),
            (r#"{"apiVersion":"a/b/c"}"#, "unexpected GroupVersion string: a/b/c"),
            (
                r#"{"gracePeriodSeconds":1.5}"#,
                "json: cannot unmarshal number 1.5 into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
            ),
            (
                r#"{"preconditions":{"uid":1}}"#,
                "json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID",
            ),
            (
                r#"{"kind":5}"#,
                "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string",
            ),
        ] {
            check_body(body, expected);
        }
    }
}
