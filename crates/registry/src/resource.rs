//! Resource: one served resource, and its builder.
//!
//! Built-in, custom and third-party resources are this same value; nothing in the server distinguishes them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use keelson_codec::protobuf;
use keelson_object::{GroupKind, GroupResource, Object, SelectableField, SmolStr};
use keelson_schema::Schema;

use crate::answer::Answer;
use crate::column::Column;
use crate::convert::Conversion;
use crate::deprecation::Deprecation;
use crate::guard::Guard;
use crate::published_schema::PublishedSchema;
use crate::report::Report;
use crate::reserve::Reserve;
use crate::strategy::{Plain, Strategy};
use crate::structural_types::StructuralTypes;
use crate::subresource::Subresource;

/// Whether objects are namespaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each object is in a namespace.
    Namespaced,
    /// Objects belong to the cluster.
    Cluster,
}

/// A verb. The order is that of discovery documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Verb {
    Create,
    Delete,
    DeleteCollection,
    Get,
    List,
    Patch,
    Update,
    Watch,
}

impl Verb {
    /// Every verb of a stored resource.
    pub const ALL: &'static [Verb] = &[
        Verb::Create,
        Verb::Delete,
        Verb::DeleteCollection,
        Verb::Get,
        Verb::List,
        Verb::Patch,
        Verb::Update,
        Verb::Watch,
    ];

    /// As discovery and RBAC spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verb::Create => "create",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Patch => "patch",
            Verb::Update => "update",
            Verb::Watch => "watch",
        }
    }
}

/// Paths of the scale subresource, dotted and without a dot in front: `spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The wanted replicas.
    pub replicas: SmolStr,
    /// The current replicas.
    pub current: SmolStr,
    /// The selector of the pods; empty if the kind has none.
    pub selector: SmolStr,
    /// Whether an object must have the wanted replicas to have a scale, as custom resources must.
    pub needs_replicas: bool,
}

impl Scale {
    /// The scale of most workloads.
    pub const WORKLOAD: Scale = Scale {
        replicas: SmolStr::new_static("spec.replicas"),
        current: SmolStr::new_static("status.replicas"),
        selector: SmolStr::new_static("spec.selector"),
        needs_replicas: false,
    };
}

/// Brings an object of an old version into the stored one.
pub type ToStored = fn(&mut Object);

/// Brings an object of the stored version into an old one.
pub type FromStored = fn(&mut Object);

/// One served version of a resource.
#[derive(Clone, Debug)]
pub struct Version {
    /// `v1`.
    pub name: SmolStr,
    /// Whether objects are stored in this version.
    pub stored: bool,
    /// Whether clients can use it. A stored version may be disabled; its objects remain.
    pub served: bool,
    /// Whether it is served unless an operator disables it.
    pub on_by_default: bool,
    /// The feature gate that must be on for it to be served.
    pub gate: Option<&'static str>,
    /// Whether the emulated version of Kubernetes has it.
    pub emulated: bool,
    /// The minor version of Kubernetes that introduced it; 0 if no older version can be emulated.
    pub introduced: u8,
    /// The deprecation; every request returns a warning about it.
    pub deprecation: Option<Deprecation>,
    /// The deprecation warning of a CustomResourceDefinition, which has no releases.
    pub deprecation_warning: Option<SmolStr>,
    /// The conversion to the stored version and back, if the shape differs.
    pub conversion: Option<Conversion>,
    /// The table columns of this version, if they differ from those of the resource.
    pub columns: Option<Vec<Column>>,
    /// The schema of this version; `None` admits anything.
    pub schema: Option<Schema>,
    /// The structural schema of this version, if it is a custom resource.
    pub structural: Option<Arc<StructuralTypes>>,
    /// The path of the replicas in this version of a custom resource.
    pub scale_replicas: Option<SmolStr>,
    /// The published OpenAPI schema, if it is a custom kind.
    pub published: Option<Arc<dyn PublishedSchema>>,
    /// `"kind":"Pod","apiVersion":"v1",`: the bytes between the brace and the frozen bytes.
    pub head: Bytes,
    /// `v1` or `apps/v1`.
    pub api_version: SmolStr,
    /// The protobuf form of this version; only built-in kinds have one.
    pub protobuf: Option<ProtobufForm>,
}

/// The envelopes of a kind in protobuf.
#[derive(Clone, Debug)]
pub struct ProtobufForm {
    /// The head of one object.
    pub head: protobuf::Head,
    /// The head of a list.
    pub list_head: protobuf::Head,
    /// The schema of a list.
    pub list: Schema,
}

impl Version {
    /// The version in which objects are stored.
    pub fn stored(name: &str) -> Version {
        Version { stored: true, ..Version::served(name) }
    }

    /// A version that is served but not stored.
    pub fn served(name: &str) -> Version {
        Version {
            name: name.into(),
            stored: false,
            served: true,
            on_by_default: !name.contains("alpha") && !name.contains("beta"),
            gate: None,
            emulated: true,
            introduced: 0,
            deprecation: None,
            deprecation_warning: None,
            conversion: None,
            columns: None,
            schema: None,
            structural: None,
            scale_replicas: None,
            published: None,
            head: Bytes::new(),
            api_version: SmolStr::default(),
            protobuf: None,
        }
    }

    /// Sets the table columns of this version, seen in this version.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Version {
        self.columns = Some(columns.into_iter().collect());
        self
    }

    /// Sets the conversion: the shape differs from that of the stored version.
    #[must_use]
    pub fn converts(mut self, conversion: Conversion) -> Version {
        self.conversion = Some(conversion);
        self
    }

    /// Served only if a feature gate is on.
    #[must_use]
    pub fn gate(mut self, feature: &'static str) -> Version {
        self.gate = Some(feature);
        self
    }

    /// Served by default although it is a beta or alpha version.
    #[must_use]
    pub fn on_by_default(mut self) -> Version {
        self.on_by_default = true;
        self
    }

    /// Sets the published OpenAPI schema.
    #[must_use]
    pub fn published(mut self, published: Arc<dyn PublishedSchema>) -> Version {
        self.published = Some(published);
        self
    }

    /// Sets the schema. Built-in kinds find theirs by name.
    #[must_use]
    pub fn schema(mut self, schema: Schema) -> Version {
        self.schema = Some(schema);
        self
    }
}

/// Computes the TTL of an object.
pub type Lives = Arc<dyn Fn(&Object) -> Duration + Send + Sync>;

/// One served resource.
#[derive(Clone)]
pub struct Resource {
    /// The group; set by [`crate::Group::serve`].
    pub group: SmolStr,
    /// `Deployment`.
    pub kind: SmolStr,
    /// `deployments`.
    pub plural: SmolStr,
    /// `deployment`.
    pub singular: SmolStr,
    /// `DeploymentList`.
    pub list_kind: SmolStr,
    /// `deploy`.
    pub short_names: Vec<SmolStr>,
    /// `all`.
    pub categories: Vec<SmolStr>,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// The known versions, the preferred one first.
    pub versions: Vec<Version>,
    /// The position of the version in which the rules of the kind run, if it is not the stored one. A custom resource is
    /// one resource for each served version, because all its rules run in the version of the request.
    pub hub: Option<usize>,
    /// The table columns, seen in the stored version; name and age by default.
    pub columns: Vec<Column>,
    /// The verbs, in the order that discovery shows.
    pub verbs: Vec<Verb>,
    /// The verbs that discovery shows, if these are not all.
    pub shown_verbs: Option<&'static [Verb]>,
    /// Whether there is a status subresource.
    pub has_status: bool,
    /// Further subresources: parts of the object that are specific to the kind, actions, connections.
    pub subresources: Vec<Subresource>,
    /// Whether there is a scale subresource.
    pub scale: Option<Scale>,
    /// The fields that field selectors can use, besides `metadata.name` and `metadata.namespace`.
    pub selectable: Vec<SelectableField>,
    /// Labels of selectable fields by which watchers are indexed.
    pub indexed: Vec<SmolStr>,
    /// The path of the objects in the store; the plural by default.
    pub storage_path: SmolStr,
    /// Whether discovery shows a hash of the stored version: not if it is a version of a custom resource that
    /// is not served.
    pub shows_storage_version: bool,
    /// Whether objects are stored as JSON, even if other kinds are stored as protobuf.
    pub json_in_store: bool,
    /// Versions that are not served but may still be in the store, with their conversion to the stored one.
    pub readable: Vec<(&'static str, ToStored)>,
    /// The version in which objects are written to the store if it is not the stored one, with the conversion
    /// from the stored one. It is not served. [`Resource::readable`] reads it.
    pub stored_as: Option<(&'static str, FromStored)>,
    /// The TTL of an object; unlimited by default.
    pub lives: Option<Lives>,
    /// Whether a PUT without resourceVersion overwrites.
    pub unconditional_update: bool,
    /// Whether a PUT creates an object that does not exist, also a PUT of the status.
    pub create_on_update: bool,
    /// Whether an apply of the status creates an object that does not exist; one of the object itself always
    /// does.
    pub create_on_status_apply: bool,
    /// Whether a DELETE responds with the object instead of a Status.
    pub returns_deleted: bool,
    /// Whether a write waits until the cache has seen it, so that the next read of the cache finds it.
    pub seen_at_once: bool,
    /// Whether items of a list contain kind and apiVersion, as those of custom resources do.
    pub items_carry_head: bool,
    /// Whether finalizers must be well-known or name their owner, as those of built-in kinds must.
    pub owned_finalizers: bool,
    /// The resource of another group that stores these objects.
    pub stands_for: Option<GroupResource>,
    /// Answers requests, if nothing is stored.
    pub answers: Option<Arc<dyn Answer>>,
    /// Determines the objects, if nothing is stored.
    pub reports: Option<Arc<dyn Report>>,
    /// The warning for clients that rely on an effect that is not implemented yet.
    pub without_effect: Option<&'static str>,
    /// Why objects cannot be created, if they cannot.
    pub create_refusal: Option<&'static str>,
    /// The rules of the kind.
    pub strategy: Arc<dyn Strategy>,
    /// The shared range of which objects take values.
    pub reserve: Option<Arc<dyn Reserve>>,
    /// The permissions that writes need beyond their verb.
    pub guard: Option<Arc<dyn Guard>>,
}

impl Resource {
    /// A namespaced resource.
    pub fn namespaced(kind: &str, plural: &str) -> Resource {
        Resource::new(kind, plural, Scope::Namespaced)
    }

    /// A cluster-scoped resource.
    pub fn cluster(kind: &str, plural: &str) -> Resource {
        Resource::new(kind, plural, Scope::Cluster)
    }

    fn new(kind: &str, plural: &str, scope: Scope) -> Resource {
        Resource {
            group: SmolStr::default(),
            kind: kind.into(),
            plural: plural.into(),
            singular: kind.to_ascii_lowercase().into(),
            list_kind: format!("{kind}List").into(),
            short_names: Vec::new(),
            categories: Vec::new(),
            scope,
            versions: Vec::new(),
            hub: None,
            columns: vec![Column::name(), Column::age()],
            verbs: Verb::ALL.to_vec(),
            shown_verbs: None,
            has_status: false,
            subresources: Vec::new(),
            scale: None,
            selectable: Vec::new(),
            indexed: Vec::new(),
            storage_path: plural.into(),
            shows_storage_version: true,
            json_in_store: false,
            readable: Vec::new(),
            stored_as: None,
            lives: None,
            unconditional_update: true,
            create_on_update: false,
            create_on_status_apply: false,
            returns_deleted: false,
            seen_at_once: false,
            items_carry_head: false,
            owned_finalizers: false,
            stands_for: None,
            answers: None,
            reports: None,
            without_effect: None,
            create_refusal: None,
            strategy: Arc::new(Plain),
            reserve: None,
            guard: None,
        }
    }

    /// Adds a short name, which kubectl users can type instead of the plural.
    #[must_use]
    pub fn short_name(mut self, name: &str) -> Resource {
        self.short_names.push(name.into());
        self
    }

    /// A category: `kubectl get all`.
    #[must_use]
    pub fn category(mut self, name: &str) -> Resource {
        self.categories.push(name.into());
        self
    }

    /// One more served version; the first one is preferred.
    #[must_use]
    pub fn version(mut self, version: Version) -> Resource {
        self.versions.push(version);
        self
    }

    /// Adds the status subresource: plain updates do not change the status.
    #[must_use]
    pub fn with_status(mut self) -> Resource {
        self.has_status = true;
        self
    }

    /// Adds the subresource `part`, which can be read and changed; the strategy knows the fields that belong
    /// to it.
    #[must_use]
    pub fn with_part(self, part: &'static str) -> Resource {
        self.subresource(Subresource::part(part))
    }

    /// One more subresource.
    #[must_use]
    pub fn subresource(mut self, subresource: Subresource) -> Resource {
        self.subresources.push(subresource);
        self
    }

    /// Sets the singular, if it is not the kind in lower case.
    #[must_use]
    pub fn singular(mut self, name: &str) -> Resource {
        self.singular = name.into();
        self
    }

    /// Sets the table columns of all versions, seen in the stored version.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Resource {
        self.columns = columns.into_iter().collect();
        self
    }

    /// Shows the objects of a resource of another group, whose stored version is also the stored version of
    /// this one.
    #[must_use]
    pub fn stands_for(mut self, group: &str, plural: &str) -> Resource {
        self.stands_for = Some(GroupResource { group: group.into(), resource: plural.into() });
        self
    }

    /// Stores nothing: a POST is only answered.
    #[must_use]
    pub fn answered(mut self, answer: impl Answer) -> Resource {
        self.answers = Some(Arc::new(answer));
        self.verbs(&[Verb::Create])
    }

    /// Stores nothing: the objects are determined on every read.
    #[must_use]
    pub fn reported(mut self, report: impl Report) -> Resource {
        self.reports = Some(Arc::new(report));
        self.verbs(&[Verb::Get, Verb::List])
    }

    /// Whether objects are stored.
    pub fn is_stored(&self) -> bool {
        self.answers.is_none() && self.reports.is_none()
    }

    /// Writes return a warning that the object has no effect yet.
    #[must_use]
    pub fn without_effect(mut self, warning: &'static str) -> Resource {
        self.without_effect = Some(warning);
        self
    }

    /// Adds the scale subresource.
    #[must_use]
    pub fn with_scale(mut self, scale: Scale) -> Resource {
        self.scale = Some(scale);
        self
    }

    /// Field selectors can use `field`.
    #[must_use]
    pub fn selectable(mut self, field: SelectableField) -> Resource {
        self.selectable.push(field);
        self
    }

    /// Field selectors can use the text at `path`, and watchers that do are found by index.
    #[must_use]
    pub fn indexed(mut self, path: &str) -> Resource {
        self.selectable.push(SelectableField::plain(path));
        self.indexed.push(path.into());
        self
    }

    /// Objects are stored under this path instead of the plural.
    #[must_use]
    pub fn storage_path(mut self, path: &str) -> Resource {
        self.storage_path = path.into();
        self
    }

    /// Objects are stored as JSON, even if other kinds are stored as protobuf.
    #[must_use]
    pub fn json_in_store(mut self) -> Resource {
        self.json_in_store = true;
        self
    }

    /// Objects that are stored as `api_version` can be read; `convert` converts them to the stored version.
    #[must_use]
    pub fn reads(mut self, api_version: &'static str, convert: fn(&mut Object)) -> Resource {
        self.readable.push((api_version, convert));
        self
    }

    /// Objects are stored as `api_version`, to which `convert` converts them. [`Resource::reads`] reads that
    /// version.
    #[must_use]
    pub fn stored_as(mut self, api_version: &'static str, convert: FromStored) -> Resource {
        self.stored_as = Some((api_version, convert));
        self
    }

    /// The version in which objects are encoded in the store.
    pub fn encoding_version(&self) -> SmolStr {
        match self.stored_as {
            Some((api_version, _)) => SmolStr::new_static(api_version),
            None => self.stored_version().api_version.clone(),
        }
    }

    /// Objects are removed after their TTL.
    #[must_use]
    pub fn lives(mut self, lives: impl Fn(&Object) -> Duration + Send + Sync + 'static) -> Resource {
        self.lives = Some(Arc::new(lives));
        self
    }

    /// A PUT needs a resourceVersion.
    #[must_use]
    pub fn conditional_update(mut self) -> Resource {
        self.unconditional_update = false;
        self
    }

    /// A PUT creates an object that does not exist.
    #[must_use]
    pub fn creates_on_update(mut self) -> Resource {
        self.create_on_update = true;
        self
    }

    /// An apply of the status creates an object that does not exist.
    #[must_use]
    pub fn creates_on_status_apply(mut self) -> Resource {
        self.create_on_status_apply = true;
        self
    }

    /// A DELETE responds with the object.
    #[must_use]
    pub fn returns_deleted(mut self) -> Resource {
        self.returns_deleted = true;
        self
    }

    /// Only these verbs.
    #[must_use]
    pub fn verbs(mut self, verbs: &[Verb]) -> Resource {
        self.verbs = verbs.to_vec();
        self
    }

    /// Sets the rules of the kind.
    #[must_use]
    pub fn strategy(mut self, strategy: impl Strategy) -> Resource {
        self.strategy = Arc::new(strategy);
        self
    }

    /// A write waits until the cache has seen it: for objects that decide about others, as namespaces do.
    #[must_use]
    pub fn seen_at_once(mut self) -> Resource {
        self.seen_at_once = true;
        self
    }

    /// A guard checks writes.
    #[must_use]
    pub fn guarded(mut self, guard: impl Guard) -> Resource {
        self.guard = Some(Arc::new(guard));
        self
    }

    /// Objects take values from a shared range.
    #[must_use]
    pub fn reserving(mut self, reserve: impl Reserve) -> Resource {
        self.reserve = Some(Arc::new(reserve));
        self
    }

    /// `deployments.apps`.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource { group: self.group.clone(), resource: self.plural.clone() }
    }

    /// `Deployment.apps`.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind { group: self.group.clone(), kind: self.kind.clone() }
    }

    /// The version in which objects are stored.
    pub fn stored_version(&self) -> &Version {
        self.versions.iter().find(|it| it.stored).unwrap_or(&self.versions[0])
    }

    /// The version in which the rules of the kind run: defaulting, admission, validation, tables, managed fields.
    pub fn hub_version(&self) -> &Version {
        match self.hub {
            Some(hub) => &self.versions[hub],
            None => self.stored_version(),
        }
    }

    /// Whether a CustomResourceDefinition defines it.
    pub fn is_custom(&self) -> bool {
        self.hub.is_some()
    }

    /// The served versions, the preferred one first.
    pub fn served_versions(&self) -> impl Iterator<Item = &Version> {
        self.versions.iter().filter(|it| it.served)
    }

    /// The version called `name`, if it is served.
    pub fn served_version(&self, name: &str) -> Option<&Version> {
        self.served_versions().find(|it| it.name == name)
    }

    /// The table columns of `version`.
    pub fn columns_of<'r>(&'r self, version: &'r Version) -> &'r [Column] {
        version.columns.as_ref().unwrap_or(&self.columns)
    }

    /// The subresource called `name`, apart from status and scale.
    pub fn subresource_named(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|it| it.name == name)
    }

    /// The warnings about an object that is accepted.
    pub(crate) fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = self.strategy.warnings(object, old);
        warnings.extend(self.without_effect.map(|what| format!("stored without effect: {what}")));
        warnings
    }

    /// Whether the resource supports `verb`.
    pub fn supports(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// Brings a valid object into its canonical form: first that of the kind, then that of the schema.
    pub(crate) fn canonicalize(&self, object: &mut Object) {
        self.strategy.canonicalize(object);
        self.arrange(object);
    }

    /// Brings the fields of an object into canonical form. Custom resources keep empty values.
    pub fn arrange(&self, object: &mut Object) {
        let hub = self.hub_version();
        if let Some(schema) = &hub.schema {
            schema.arrange(object);
        }
        if hub.structural.is_some() {
            object.fields.sort_all_keys();
        }
    }

    /// Fills in everything that depends on the group: heads, and the schemas of built-in kinds.
    pub fn join(mut self, group: &SmolStr) -> Resource {
        self.group = group.clone();
        for version in &mut self.versions {
            let api_version =
                keelson_object::ApiVersion::new(group.clone(), version.name.clone()).to_string();
            version.head =
                Bytes::from(format!("\"kind\":\"{}\",\"apiVersion\":\"{api_version}\",", self.kind));
            if version.schema.is_none() && version.structural.is_none() {
                version.schema = Schema::builtin(group, &version.name, &self.kind);
                let list_kind = format!("{}List", self.kind);
                version.protobuf =
                    Schema::builtin(group, &version.name, &list_kind).map(|list| ProtobufForm {
                        head: protobuf::Head::new(&api_version, &self.kind),
                        list_head: protobuf::Head::new(&api_version, &list_kind),
                        list,
                    });
            }
            version.api_version = api_version.into();
        }
        self
    }
}
