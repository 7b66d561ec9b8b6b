//! CustomResourceDefinition to `Resource`: one resource for each served version, because the rules of a custom resource
//! run in the version of the request.

use std::sync::Arc;

use keelson_cel::goregex::CompiledPatterns;
use keelson_object::{Map, SelectableField, SmolStr};
use keelson_registry::{CatalogHandle, Deprecation, Resource, Scale, Scope, StructuralTypes, Verb, Version};
use keelson_structural::scale::ScalePaths;

use crate::columns;
use crate::definition::{Definition, VersionDefinition};
use crate::published::Published;
use crate::strategy::CustomKind;

/// The verbs of a custom resource, in the order in which upstream's discovery shows them.
const VERBS: &[Verb] = &[
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];

/// The verbs that discovery shows while the definition is terminating.
const TERMINATING_VERBS: &[Verb] =
    &[Verb::Delete, Verb::DeleteCollection, Verb::Get, Verb::List, Verb::Watch];

/// Why nothing is created while the definition is terminating.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, forbidCreateAdmission (v1.36.4).
const TERMINATING: &str = "create not allowed while custom resource definition is terminating";

/// What becomes of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Objects can be created.
    Established,
    /// Objects are being deleted.
    Terminating,
}

/// What resources share beside their definition.
#[derive(Clone)]
pub struct Surroundings {
    /// Everything served.
    pub catalog: CatalogHandle,
    /// The patterns of all schemas.
    pub patterns: Arc<CompiledPatterns>,
}

/// The resources of a definition: the one in the storage version first if it is served, then the others.
pub fn resources(definition: &Definition, stage: Stage, around: &Surroundings) -> Vec<Resource> {
    let served = (0..definition.versions.len()).filter(|it| definition.versions[*it].served);
    let mut served: Vec<usize> = served.collect();
    served.sort_by_key(|it| !definition.versions[*it].storage);
    served.into_iter().map(|hub| resource(definition, hub, (stage, around))).collect()
}

fn resource(definition: &Definition, hub: usize, (stage, around): (Stage, &Surroundings)) -> Resource {
    let (names, version) = (&definition.names, &definition.versions[hub]);
    let resource = match definition.scope {
        Scope::Namespaced => Resource::namespaced(&names.kind, &names.plural),
        Scope::Cluster => Resource::cluster(&names.kind, &names.plural),
    };
    let scale = version.scale.as_ref().map(scale_paths);
    let strategy = CustomKind::new(version, scale.clone(), around.patterns.clone());
    let versions = definition.versions.iter().enumerate();
    let versions =
        versions.map(|(position, it)| registry_version(around, definition, (it, position == hub))).collect();
    let resource = Resource {
        singular: names.singular.clone(),
        list_kind: names.list_kind.clone(),
        short_names: names.short_names.clone(),
        categories: names.categories.clone(),
        versions,
        hub: Some(hub),
        verbs: VERBS.to_vec(),
        shown_verbs: (stage == Stage::Terminating).then_some(TERMINATING_VERBS),
        has_status: version.has_status,
        scale: scale.as_ref().map(registry_scale),
        selectable: selectable(definition, version),
        storage_path: format!("{}/{}", definition.group, names.plural).into(),
        json_in_store: true,
        shows_storage_version: definition.versions[definition.storage_version()].served,
        unconditional_update: false,
        items_carry_head: true,
        create_refusal: (stage == Stage::Terminating).then_some(TERMINATING),
        ..resource.strategy(strategy)
    };
    resource.join(&definition.group)
}

fn registry_version(
    around: &Surroundings,
    definition: &Definition,
    (version, is_hub): (&VersionDefinition, bool),
) -> Version {
    let types =
        StructuralTypes { schema: version.schema.clone(), preserves_unknown: definition.preserves_unknown };
    let deprecation = version.deprecation.clone();
    let replicas = version.scale.as_ref().and_then(|it| it.str("specReplicasPath"));
    Version {
        stored: version.storage,
        served: is_hub,
        on_by_default: true,
        deprecation: deprecation.as_ref().map(|_| Deprecation::default()),
        deprecation_warning: deprecation,
        columns: is_hub.then(|| columns::of_version(&version.columns)),
        structural: Some(Arc::new(types)),
        published: is_hub.then(|| Arc::new(Published::new(&around.catalog, definition, version)) as _),
        scale_replicas: replicas.map(|it| it.trim_start_matches('.').into()),
        ..Version::served(&version.name)
    }
}

fn scale_paths(scale: &Map) -> ScalePaths {
    let path = |key: &str| scale.str(key).unwrap_or_default().to_owned();
    ScalePaths {
        spec_replicas: path("specReplicasPath"),
        status_replicas: path("statusReplicasPath"),
        label_selector: scale.str("labelSelectorPath").map(str::to_owned),
    }
}

fn registry_scale(paths: &ScalePaths) -> Scale {
    let plain = |path: &str| SmolStr::from(path.trim_start_matches('.'));
    Scale {
        replicas: plain(&paths.spec_replicas),
        current: plain(&paths.status_replicas),
        selector: paths.label_selector.as_deref().map(plain).unwrap_or_default(),
        needs_replicas: true,
    }
}

/// The fields that are kept beside the objects are those of all versions; a version offers its own.
fn selectable(definition: &Definition, version: &VersionDefinition) -> Vec<SelectableField> {
    let mut paths: Vec<&SmolStr> = definition.versions.iter().flat_map(|it| &it.selectable).collect();
    paths.sort_unstable();
    paths.dedup();
    let field = |path: &SmolStr| {
        let plain = SmolStr::from(path.trim_start_matches('.'));
        let label = if version.selectable.contains(path) { plain.clone() } else { SmolStr::default() };
        SelectableField { label, paths: vec![plain], default: SmolStr::default() }
    };
    paths.into_iter().map(field).collect()
}
