//! CustomResourceDefinition as a value: what serving needs to know of it.

use std::sync::Arc;

use keelson_object::{Map, Object, SmolStr, Value};
use keelson_registry::Scope;
use keelson_registry::group::by_preference;
use keelson_structural::{Interner, ParseError, Schema, defaults, parse};

/// A definition whose names are accepted.
#[derive(Clone, Debug)]
pub struct Definition {
    /// `crontabs.stable.example.com`.
    pub name: SmolStr,
    /// The uid of the definition. One that was deleted and created again has another.
    pub uid: SmolStr,
    /// `metadata.generation`, which counts the changes of the specification.
    pub generation: i64,
    /// `stable.example.com`.
    pub group: SmolStr,
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// The names that no other definition has.
    pub names: Names,
    /// All versions, in the order of the definition.
    pub versions: Vec<VersionDefinition>,
    /// `spec.preserveUnknownFields`, which only definitions from the time of v1beta1 have.
    pub preserves_unknown: bool,
    /// `spec.conversion`, if the strategy is `Webhook`.
    pub webhook: Option<Map>,
}

/// `status.acceptedNames`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// `crontabs`.
    pub plural: SmolStr,
    /// `crontab`.
    pub singular: SmolStr,
    /// `CronTab`.
    pub kind: SmolStr,
    /// `CronTabList`.
    pub list_kind: SmolStr,
    /// `ct`.
    pub short_names: Vec<SmolStr>,
    /// `all`.
    pub categories: Vec<SmolStr>,
}

/// One of `spec.versions`.
#[derive(Clone, Debug)]
pub struct VersionDefinition {
    /// `v1`.
    pub name: SmolStr,
    /// Whether clients can ask for it.
    pub served: bool,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// The warning for those who use it, if it is deprecated.
    pub deprecation: Option<SmolStr>,
    /// `schema.openAPIV3Schema`.
    pub schema: Option<Arc<Schema>>,
    /// Whether `subresources.status` is there.
    pub has_status: bool,
    /// `subresources.scale`.
    pub scale: Option<Map>,
    /// `additionalPrinterColumns`.
    pub columns: Vec<Map>,
    /// The paths of `selectableFields`.
    pub selectable: Vec<SmolStr>,
}

/// Why a definition cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// A name is not accepted yet.
    #[error("the definition {0:?} has no accepted {1}")]
    NoName(SmolStr, &'static str),
    /// No version is stored.
    #[error("the definition {0:?} has no storage version")]
    NoStorageVersion(SmolStr),
    /// The schema of a version cannot be read.
    #[error("the schema of version {version:?} of the definition {name:?} cannot be used")]
    Schema {
        /// The definition.
        name: SmolStr,
        /// The version.
        version: SmolStr,
        /// What is wrong with it.
        #[source]
        cause: ParseError,
    },
}

impl Definition {
    /// Reads a definition. Equal parts of schemas are shared through `interner`.
    pub fn read(object: &Object, interner: &mut Interner) -> Result<Definition, DefinitionError> {
        let empty = Map::new();
        let spec = object.fields.map("spec").unwrap_or(&empty);
        let text = |map: &Map, key: &str| SmolStr::from(map.str(key).unwrap_or_default());
        let name = object.meta.name.clone();
        let group = text(spec, "group");
        let preserves_unknown = spec.bool("preserveUnknownFields") == Some(true);
        let scope = match spec.str("scope") {
            Some("Cluster") => Scope::Cluster,
            _ => Scope::Namespaced,
        };
        let names = Names::read(object)?;
        let mut versions = Vec::new();
        for version in spec.maps("versions") {
            let schema = read_schema(version, preserves_unknown, interner).map_err(|cause| {
                DefinitionError::Schema { name: name.clone(), version: text(version, "name"), cause }
            })?;
            versions.push(VersionDefinition::read(version, schema));
        }
        if !versions.iter().any(|it| it.storage) {
            return Err(DefinitionError::NoStorageVersion(name));
        }
        set_default_warnings(&mut versions, &group, &names.kind);
        let webhook = spec.map("conversion").filter(|it| it.str("strategy") == Some("Webhook"));
        let webhook = webhook.and_then(|it| it.map("webhook")).cloned();
        let (uid, generation) = (object.meta.uid.clone(), object.meta.generation);
        Ok(Definition { name, uid, generation, group, scope, names, versions, preserves_unknown, webhook })
    }

    /// The position of the version in which objects are stored.
    pub fn storage_version(&self) -> usize {
        self.versions.iter().position(|it| it.storage).unwrap_or_default()
    }
}

/// The structural schema of a version, whose defaults are pruned. A definition that preserves unknown fields may have a
/// schema that is not structural; it is not used then.
fn read_schema(
    version: &Map,
    preserves_unknown: bool,
    interner: &mut Interner,
) -> Result<Option<Arc<Schema>>, ParseError> {
    let Some(schema) = version.map("schema").and_then(|it| it.map("openAPIV3Schema")) else {
        return Ok(None);
    };
    match parse(schema, interner) {
        Ok(schema) if preserves_unknown => Ok(Some(schema)),
        Ok(schema) => Ok(Some(defaults::pruned(&schema, interner).unwrap_or(schema))),
        Err(_) if preserves_unknown => Ok(None),
        Err(error) => Err(error),
    }
}

impl Names {
    fn read(object: &Object) -> Result<Names, DefinitionError> {
        let empty = Map::new();
        let accepted = object.fields.map("status").and_then(|it| it.map("acceptedNames")).unwrap_or(&empty);
        let one = |key: &'static str| match accepted.str(key) {
            Some(name) if !name.is_empty() => Ok(SmolStr::from(name)),
            _ => Err(DefinitionError::NoName(object.meta.name.clone(), key)),
        };
        let many = |key: &str| accepted.strings(key).map(SmolStr::from).collect();
        Ok(Names {
            plural: one("plural")?,
            singular: one("singular")?,
            kind: one("kind")?,
            list_kind: one("listKind")?,
            short_names: many("shortNames"),
            categories: many("categories"),
        })
    }
}

impl VersionDefinition {
    fn read(version: &Map, schema: Option<Arc<Schema>>) -> VersionDefinition {
        let subresources = version.map("subresources");
        let is_deprecated = version.bool("deprecated") == Some(true);
        let warning = version.str("deprecationWarning").unwrap_or_default();
        VersionDefinition {
            name: version.str("name").unwrap_or_default().into(),
            served: version.bool("served") == Some(true),
            storage: version.bool("storage") == Some(true),
            deprecation: is_deprecated.then(|| warning.into()),
            schema,
            has_status: subresources.is_some_and(|it| it.contains("status")),
            scale: subresources.and_then(|it| it.map("scale")).cloned(),
            columns: version.maps("additionalPrinterColumns").cloned().collect(),
            selectable: version
                .maps("selectableFields")
                .filter_map(|it| it.get("jsonPath").and_then(Value::as_str))
                .map(SmolStr::from)
                .collect(),
        }
    }
}

/// Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, defaultDeprecationWarning (v1.36.4).
fn set_default_warnings(versions: &mut [VersionDefinition], group: &str, kind: &str) {
    let newer = |than: &str| {
        let served = versions.iter().filter(|it| it.served && it.deprecation.is_none());
        let newer = served.filter(|it| by_preference(&it.name, than).is_lt());
        newer.min_by(|a, b| by_preference(&a.name, &b.name)).map(|it| it.name.clone())
    };
    let texts: Vec<Option<SmolStr>> = versions
        .iter()
        .map(|version| {
            let own = version.deprecation.clone()?;
            if !own.is_empty() {
                return Some(own);
            }
            let mut text = format!("{group}/{} {kind} is deprecated", version.name);
            if let Some(newer) = newer(&version.name) {
                text.push_str(&format!("; use {group}/{newer} {kind}"));
            }
            Some(text.into())
        })
        .collect();
    for (version, text) in versions.iter_mut().zip(texts) {
        version.deprecation = text;
    }
}
