//! Resource: one served resource, and its builder.
//!
//! Built-in, custom and third-party resources are this same value; nothing in the server asks which.

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

/// Whether objects live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Each object is in a namespace.
    Namespaced,
    /// Objects belong to the cluster.
    Cluster,
}

/// What can be done to a resource. The order is that of discovery documents.
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
    /// Whether clients can ask for it. A stored version may be switched off; its objects remain.
    pub served: bool,
    /// Whether it is served unless somebody switches it off.
    pub on_by_default: bool,
    /// The feature without which it is not served.
    pub gate: Option<&'static str>,
    /// Whether the version of Kubernetes that is emulated has it.
    pub emulated: bool,
    /// The minor version of Kubernetes that it came with; 0 where no older version can be emulated.
    pub introduced: u8,
    /// Since when it is on its way out; everybody who uses it is told.
    pub deprecation: Option<Deprecation>,
    /// The warning about the deprecation that a CustomResourceDefinition has, which knows no releases.
    pub deprecation_warning: Option<SmolStr>,
    /// How to get to the stored version and back, where the shape differs.
    pub conversion: Option<Conversion>,
    /// What a table of this version shows, if that is not what tables of the resource show.
    pub columns: Option<Vec<Column>>,
    /// What an object of this version may contain; `None` admits anything.
    pub schema: Option<Schema>,
    /// What an object of this version may contain, if it is a custom resource.
    pub structural: Option<Arc<StructuralTypes>>,
    /// Where the replicas of the scale stand in this version of a custom resource.
    pub scale_replicas: Option<SmolStr>,
    /// What OpenAPI documents say about the kind, if it is a custom one.
    pub published: Option<Arc<dyn PublishedSchema>>,
    /// `"kind":"Pod","apiVersion":"v1",`: what stands between the brace and the frozen bytes.
    pub head: Bytes,
    /// `v1` or `apps/v1`.
    pub api_version: SmolStr,
    /// How objects of this version look in protobuf; only built-in kinds do.
    pub protobuf: Option<ProtobufForm>,
}

/// What stands around the messages of a kind in protobuf.
#[derive(Clone, Debug)]
pub struct ProtobufForm {
    /// Of one object.
    pub head: protobuf::Head,
    /// Of a list.
    pub list_head: protobuf::Head,
    /// What a list is.
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

    /// What a table of this version shows, seen in this version.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Version {
        self.columns = Some(columns.into_iter().collect());
        self
    }

    /// The shape is not that of the stored version.
    #[must_use]
    pub fn converts(mut self, conversion: Conversion) -> Version {
        self.conversion = Some(conversion);
        self
    }

    /// Served only where a feature is on.
    #[must_use]
    pub fn gate(mut self, feature: &'static str) -> Version {
        self.gate = Some(feature);
        self
    }

    /// Served although its name says that it is not finished.
    #[must_use]
    pub fn on_by_default(mut self) -> Version {
        self.on_by_default = true;
        self
    }

    /// What OpenAPI documents say about the kind.
    #[must_use]
    pub fn published(mut self, published: Arc<dyn PublishedSchema>) -> Version {
        self.published = Some(published);
        self
    }

    /// What an object may contain. Built-in kinds find theirs by name.
    #[must_use]
    pub fn schema(mut self, schema: Schema) -> Version {
        self.schema = Some(schema);
        self
    }
}

/// How long an object of this resource lives.
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
    /// Whether objects live in namespaces.
    pub scope: Scope,
    /// The known versions, the preferred one first.
    pub versions: Vec<Version>,
    /// The position of the version in which the rules of the kind run, if it is not the stored one. A custom resource is
    /// one resource for each served version, because all its rules run in the version of the request.
    pub hub: Option<usize>,
    /// What tables show, seen in the stored version; name and age unless said otherwise.
    pub columns: Vec<Column>,
    /// What can be done, in the order that discovery shows.
    pub verbs: Vec<Verb>,
    /// The verbs that discovery shows, if these are not all.
    pub shown_verbs: Option<&'static [Verb]>,
    /// Whether there is a status subresource.
    pub has_status: bool,
    /// Further subresources: parts of the object that only the kind knows, actions, connections.
    pub subresources: Vec<Subresource>,
    /// Whether there is a scale subresource.
    pub scale: Option<Scale>,
    /// What field selectors may ask for, besides `metadata.name` and `metadata.namespace`.
    pub selectable: Vec<SelectableField>,
    /// Labels of selectable fields by which watchers are indexed.
    pub indexed: Vec<SmolStr>,
    /// Where objects lie in the store; the plural unless said otherwise.
    pub storage_path: SmolStr,
    /// Whether discovery shows a hash of the stored version: not if that is a version of a custom resource that clients
    /// cannot ask for.
    pub shows_storage_version: bool,
    /// Whether objects lie in the store as JSON, also where those of other kinds are protobuf.
    pub json_in_store: bool,
    /// Versions that nobody serves and that may still lie in the store: how they become the stored one.
    pub readable: Vec<(&'static str, ToStored)>,
    /// The version that nobody serves and in which objects are written to the store, where that is not the stored one;
    /// how the stored one becomes it. [`Resource::readable`] reads it.
    pub stored_as: Option<(&'static str, FromStored)>,
    /// How long an object lives; for ever unless said otherwise.
    pub lives: Option<Lives>,
    /// Whether a PUT without resourceVersion overwrites.
    pub unconditional_update: bool,
    /// Whether a PUT creates what is not there, also one of the status.
    pub create_on_update: bool,
    /// Whether an apply of the status creates what is not there; one of the object itself always does.
    pub create_on_status_apply: bool,
    /// Whether a DELETE answers with the object instead of a Status.
    pub returns_deleted: bool,
    /// Whether a write is done only when the cache has seen it, so that the next read of the cache finds it.
    pub seen_at_once: bool,
    /// Whether items of a list carry kind and apiVersion, as those of custom resources do.
    pub items_carry_head: bool,
    /// Whether finalizers must be well-known or name their owner, as those of built-in kinds must.
    pub owned_finalizers: bool,
    /// The resource of another group whose objects these are.
    pub stands_for: Option<GroupResource>,
    /// Who answers, if nothing is stored.
    pub answers: Option<Arc<dyn Answer>>,
    /// Who knows the objects, if nothing is stored.
    pub reports: Option<Arc<dyn Report>>,
    /// What users are told who rely on an effect that is not there yet.
    pub without_effect: Option<&'static str>,
    /// Why nothing can be created, if nothing can.
    pub create_refusal: Option<&'static str>,
    /// What is special about the kind.
    pub strategy: Arc<dyn Strategy>,
    /// Where objects get what they share with others.
    pub reserve: Option<Arc<dyn Reserve>>,
    /// Who may write what.
    pub guard: Option<Arc<dyn Guard>>,
}

impl Resource {
    /// A resource whose objects live in namespaces.
    pub fn namespaced(kind: &str, plural: &str) -> Resource {
        Resource::new(kind, plural, Scope::Namespaced)
    }

    /// A resource whose objects belong to the cluster.
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

    /// What kubectl users may type instead of the plural.
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

    /// Status is a subresource: plain updates leave it alone.
    #[must_use]
    pub fn with_status(mut self) -> Resource {
        self.has_status = true;
        self
    }

    /// `part` is a subresource that can be read and changed; the strategy knows what belongs to it.
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

    /// The singular, where it is not the kind in lower case.
    #[must_use]
    pub fn singular(mut self, name: &str) -> Resource {
        self.singular = name.into();
        self
    }

    /// What tables of every version show, seen in the stored version.
    #[must_use]
    pub fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Resource {
        self.columns = columns.into_iter().collect();
        self
    }

    /// These are the objects of a resource of another group; its stored version is theirs.
    #[must_use]
    pub fn stands_for(mut self, group: &str, plural: &str) -> Resource {
        self.stands_for = Some(GroupResource { group: group.into(), resource: plural.into() });
        self
    }

    /// Nothing is stored: a POST only gets an answer.
    #[must_use]
    pub fn answered(mut self, answer: impl Answer) -> Resource {
        self.answers = Some(Arc::new(answer));
        self.verbs(&[Verb::Create])
    }

    /// Nothing is stored: the objects are found out when somebody asks.
    #[must_use]
    pub fn reported(mut self, report: impl Report) -> Resource {
        self.reports = Some(Arc::new(report));
        self.verbs(&[Verb::Get, Verb::List])
    }

    /// Whether there are objects in the store.
    pub fn is_stored(&self) -> bool {
        self.answers.is_none() && self.reports.is_none()
    }

    /// A write of such an object returns a warning that it has no effect yet.
    #[must_use]
    pub fn without_effect(mut self, warning: &'static str) -> Resource {
        self.without_effect = Some(warning);
        self
    }

    /// Scale is a subresource.
    #[must_use]
    pub fn with_scale(mut self, scale: Scale) -> Resource {
        self.scale = Some(scale);
        self
    }

    /// Field selectors may ask for `field`.
    #[must_use]
    pub fn selectable(mut self, field: SelectableField) -> Resource {
        self.selectable.push(field);
        self
    }

    /// Field selectors may ask for the text at `path`, and watchers that do are found by index.
    #[must_use]
    pub fn indexed(mut self, path: &str) -> Resource {
        self.selectable.push(SelectableField::plain(path));
        self.indexed.push(path.into());
        self
    }

    /// Objects lie under this path instead of the plural.
    #[must_use]
    pub fn storage_path(mut self, path: &str) -> Resource {
        self.storage_path = path.into();
        self
    }

    /// Objects lie in the store as JSON, also where those of other kinds are protobuf.
    #[must_use]
    pub fn json_in_store(mut self) -> Resource {
        self.json_in_store = true;
        self
    }

    /// What lies in the store as `api_version` is read, and made what is stored by `convert`.
    #[must_use]
    pub fn reads(mut self, api_version: &'static str, convert: fn(&mut Object)) -> Resource {
        self.readable.push((api_version, convert));
        self
    }

    /// Objects lie in the store as `api_version`, which `convert` makes of them and [`Resource::reads`] reads.
    #[must_use]
    pub fn stored_as(mut self, api_version: &'static str, convert: FromStored) -> Resource {
        self.stored_as = Some((api_version, convert));
        self
    }

    /// The version of objects in the store.
    pub fn encoding_version(&self) -> SmolStr {
        match self.stored_as {
            Some((api_version, _)) => SmolStr::new_static(api_version),
            None => self.stored_version().api_version.clone(),
        }
    }

    /// Objects go by themselves after some time.
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

    /// A PUT creates what is not there.
    #[must_use]
    pub fn creates_on_update(mut self) -> Resource {
        self.create_on_update = true;
        self
    }

    /// An apply of the status creates what is not there.
    #[must_use]
    pub fn creates_on_status_apply(mut self) -> Resource {
        self.create_on_status_apply = true;
        self
    }

    /// A DELETE answers with the object.
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

    /// What is special about the kind.
    #[must_use]
    pub fn strategy(mut self, strategy: impl Strategy) -> Resource {
        self.strategy = Arc::new(strategy);
        self
    }

    /// A write is done only when the cache has seen it: for objects that judge others, as namespaces do.
    #[must_use]
    pub fn seen_at_once(mut self) -> Resource {
        self.seen_at_once = true;
        self
    }

    /// Writes are refused by a guard of its own.
    #[must_use]
    pub fn guarded(mut self, guard: impl Guard) -> Resource {
        self.guard = Some(Arc::new(guard));
        self
    }

    /// Objects get something from a stock that they share.
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

    /// The versions that clients can ask for, the preferred one first.
    pub fn served_versions(&self) -> impl Iterator<Item = &Version> {
        self.versions.iter().filter(|it| it.served)
    }

    /// The version called `name`, if it is served.
    pub fn served_version(&self, name: &str) -> Option<&Version> {
        self.served_versions().find(|it| it.name == name)
    }

    /// What a table of `version` shows.
    pub fn columns_of<'r>(&'r self, version: &'r Version) -> &'r [Column] {
        version.columns.as_ref().unwrap_or(&self.columns)
    }

    /// The subresource called `name`, apart from status and scale.
    pub fn subresource_named(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|it| it.name == name)
    }

    /// What a client should know about an object that is accepted.
    pub(crate) fn warnings(&self, object: &Object, old: Option<&Object>) -> Vec<String> {
        let mut warnings = self.strategy.warnings(object, old);
        warnings.extend(self.without_effect.map(|what| format!("stored without effect: {what}")));
        warnings
    }

    /// Whether `verb` can be done.
    pub fn supports(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// Brings a valid object to the one form in which it is stored: first as the kind wants it, then as the wire has it.
    pub(crate) fn canonicalize(&self, object: &mut Object) {
        self.strategy.canonicalize(object);
        self.arrange(object);
    }

    /// Brings the fields of an object to their one form. Custom resources keep what is empty.
    pub fn arrange(&self, object: &mut Object) {
        let hub = self.hub_version();
        if let Some(schema) = &hub.schema {
            schema.arrange(object);
        }
        if hub.structural.is_some() {
            object.fields.sort_all_keys();
        }
    }

    /// Fills in what depends on the group: heads, and the schemas of built-in kinds.
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
