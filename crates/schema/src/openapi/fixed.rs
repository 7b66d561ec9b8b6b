//! What no table describes: the types with a form of their own.

use keelson_object::{Map, Value};

use super::Form;
use super::descriptions::Said;

/// Types with a form of their own, which no table describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fixed {
    Quantity,
    Time,
    MicroTime,
    Duration,
    IntOrString,
    RawExtension,
    FieldsV1,
    Json,
    SchemaOrArray,
    SchemaOrBool,
    SchemaOrStrings,
    Patch,
    Version,
}

impl Fixed {
    pub(super) fn name(self) -> &'static str {
        match self {
            Fixed::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
            Fixed::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
            Fixed::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
            Fixed::Duration => "io.k8s.apimachinery.pkg.apis.meta.v1.Duration",
            Fixed::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            Fixed::RawExtension => "io.k8s.apimachinery.pkg.runtime.RawExtension",
            Fixed::FieldsV1 => "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
            Fixed::Json => "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
            Fixed::SchemaOrArray => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray"
            }
            Fixed::SchemaOrBool => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool"
            }
            Fixed::SchemaOrStrings => {
                "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray"
            }
            Fixed::Patch => "io.k8s.apimachinery.pkg.apis.meta.v1.Patch",
            Fixed::Version => "io.k8s.apimachinery.pkg.version.Info",
        }
    }

    pub(super) fn schema(self, form: Form, said: Option<Said<'_>>) -> Map {
        let mut map = self.bare(form, said);
        if let Some(text) = said.and_then(Said::itself) {
            map.push_new("description", text);
        }
        map
    }

    fn bare(self, form: Form, said: Option<Said<'_>>) -> Map {
        match self {
            Fixed::Quantity => either(form, None, ["string", "number"]),
            Fixed::IntOrString => either(form, Some("int-or-string"), ["integer", "string"]),
            Fixed::Time | Fixed::MicroTime => texts(&[("format", "date-time"), ("type", "string")]),
            Fixed::Duration => texts(&[("type", "string")]),
            Fixed::RawExtension | Fixed::FieldsV1 | Fixed::Patch => texts(&[("type", "object")]),
            Fixed::Json | Fixed::SchemaOrArray | Fixed::SchemaOrBool | Fixed::SchemaOrStrings => Map::new(),
            Fixed::Version => version(form, said),
        }
    }
}

/// A value of one of two types; the second OpenAPI knows only text.
fn either(form: Form, format: Option<&str>, types: [&str; 2]) -> Map {
    let mut map = Map::new();
    if let Some(format) = format {
        map.push_new("format", format);
    }
    match form {
        Form::V2 => map.push_new("type", "string"),
        Form::V3 => {
            let types = types.iter().map(|it| Value::from(texts(&[("type", it)]))).collect::<Vec<_>>();
            map.push_new("oneOf", types);
        }
    }
    map
}

fn texts(pairs: &[(&'static str, &str)]) -> Map {
    pairs.iter().map(|(key, value)| ((*key).into(), Value::from(*value))).collect()
}

/// What `/version` answers with.
fn version(form: Form, said: Option<Said<'_>>) -> Map {
    const ALWAYS: &[&str] = &[
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ];
    const SOMETIMES: &[&str] =
        &["emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"];
    let mut properties = Map::new();
    for name in ALWAYS.iter().chain(SOMETIMES) {
        let mut property = texts(&[("type", "string")]);
        if form == Form::V3 && ALWAYS.contains(name) {
            property.push_new("default", "");
        }
        if let Some(text) = said.and_then(|it| it.field(name)) {
            property.push_new("description", text);
        }
        properties.push_new(*name, property);
    }
    properties.sort_keys();
    let mut map = Map::new();
    map.push_new("properties", properties);
    map.push_new("required", ALWAYS.iter().map(|it| Value::from(*it)).collect::<Vec<_>>());
    map.push_new("type", "object");
    map
}
