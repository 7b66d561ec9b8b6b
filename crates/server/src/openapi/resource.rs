//! OpenAPI routes of a resource: what upstream's installer registers for its verbs and subresources.
//!
//! Upstream: apiserver/pkg/endpoints/installer.go, registerResourceHandlers (v1.36.4).

use keelson_object::SmolStr;
use keelson_registry::subresource::{Deed, ForeignKind};
use keelson_registry::{Resource, Scope, Subresource, Verb, Version};
use keelson_schema::openapi::Components;

use super::Features;
use super::media::{self, Origin};
use super::route::{Body, Method, Model, Parameter, Route, options, options_of};

/// Adds the routes of one served version of `resource`, whose group version is at `base`: `/apis/apps/v1`.
pub(super) fn routes(
    base: &str,
    resource: &Resource,
    version: &Version,
    components: &mut Components<'_>,
    features: Features,
) -> Vec<Route> {
    let (group, name, kind) = (&*resource.group, &*version.name, &*resource.kind);
    let is_builtin = components.builtin(group, name, kind).is_some();
    let origin = if is_builtin { Origin::Builtin } else { Origin::Custom };
    let model = components.kind(group, name, kind, version.schema.as_ref()).into();
    let mut place = Installer {
        base,
        resource,
        subresource: "",
        kind: [resource.group.clone(), version.name.clone(), resource.kind.clone()],
        model,
        origin,
        features,
        components,
        routes: Vec::new(),
    };
    place.collection(version);
    place.item();
    place.watches();
    if resource.has_status {
        place.subresource("status", &[Verb::Get, Verb::Patch, Verb::Update]);
    }
    for one in &resource.subresources {
        place.further(one, version);
    }
    if resource.scale.is_some() {
        place.speaks("autoscaling", "v1", "Scale");
        place.subresource("scale", &[Verb::Get, Verb::Patch, Verb::Update]);
    }
    place.routes
}

struct Installer<'i, 'c> {
    base: &'i str,
    resource: &'i Resource,
    /// The subresource; empty for the resource itself.
    subresource: &'i str,
    /// Group, version and kind of requests and responses.
    kind: [SmolStr; 3],
    model: Model,
    origin: Origin,
    features: Features,
    components: &'i mut Components<'c>,
    routes: Vec<Route>,
}

/// The path of a stream: the subresource, or anything below it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    Own,
    Further,
}

/// The collection: that of one namespace (or of the cluster), or that of all namespaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    Own,
    AllNamespaces,
}

impl<'i> Installer<'i, '_> {
    fn collection(&mut self, version: &Version) {
        let kind = &self.resource.kind;
        if self.resource.supports(Verb::List) {
            let list =
                self.components.list(&self.resource.group, &version.name, kind, version.schema.as_ref());
            for extent in self.extents() {
                let mut route = self.list_route(self.collection_path("", *extent), "list", *extent);
                let watch = if self.resource.supports(Verb::Watch) { " or watch" } else { "" };
                route.description = format!("list{watch} objects of kind {kind}");
                route.answers = vec![(200, list.clone().into())];
                self.routes.push(route);
            }
        }
        if self.resource.supports(Verb::Create) {
            let mut route = self.route(self.collection_path("", Extent::Own), Method::Post, "post", "create");
            route.description = format!("create{}{kind}", article(kind));
            self.send(&mut route, "CreateOptions", &[200, 201, 202]);
            self.routes.push(route);
        }
        if self.resource.supports(Verb::DeleteCollection) {
            let status = self.components.meta("Status");
            let mut route = self.route(
                self.collection_path("", Extent::Own),
                Method::Delete,
                "deletecollection",
                "delete",
            );
            route.rest = format!("collection{}", route.rest);
            route.description = format!("delete collection of {kind}");
            let is_for_lists = |it: &Parameter| !matches!(&*it.name, "watch" | "allowWatchBookmarks");
            route.parameters.extend(options("ListOptions").into_iter().filter(is_for_lists));
            route.parameters.extend(options("DeleteOptions"));
            route.body = Some(self.delete_body());
            route.answers = vec![(200, status.into())];
            self.routes.push(route);
        }
    }

    fn item(&mut self) {
        let kind = &self.resource.kind;
        for verb in [Verb::Get, Verb::Patch, Verb::Update] {
            if self.resource.supports(verb) {
                self.item_verb(verb);
            }
        }
        if self.resource.supports(Verb::Delete) {
            // Upstream's documents do not show this for resources whose storage is wrapped. Such a wrapper
            // also hides the deletion of collections.
            let is_told = self.resource.supports(Verb::DeleteCollection);
            let answer = if self.resource.returns_deleted && is_told {
                self.model.clone()
            } else {
                self.components.meta("Status").into()
            };
            let mut route = self.route(self.item_path(), Method::Delete, "delete", "delete");
            route.description = format!("delete{}{kind}", article(kind));
            route.parameters.extend(options("DeleteOptions"));
            route.body = Some(self.delete_body());
            route.answers = vec![(200, answer.clone()), (202, answer)];
            self.routes.push(route);
        }
    }

    fn subresource(&mut self, name: &'i str, verbs: &[Verb]) {
        self.subresource = name;
        for verb in verbs {
            self.item_verb(*verb);
        }
        self.subresource = "";
    }

    /// Sets the kind that the subresource accepts and returns.
    fn speaks(&mut self, group: &str, version: &str, kind: &str) {
        self.kind = [group.into(), version.into(), kind.into()];
        self.model = self.components.kind(group, version, kind, None).into();
    }

    /// A subresource that is neither status nor scale.
    fn further(&mut self, one: &'i Subresource, version: &Version) {
        let own = (self.kind.clone(), self.model.clone());
        self.subresource = one.name;
        match (&one.deed, &one.kind) {
            (Deed::Part, _) => {
                let verbs = [Verb::Get, Verb::Patch, Verb::Update];
                verbs
                    .into_iter()
                    .filter(|it| one.verbs.contains(&it.as_str()))
                    .for_each(|it| self.item_verb(it));
            }
            (Deed::Action(_) | Deed::NotHere(_), foreign) => {
                if let Some(ForeignKind { group, version, kind }) = foreign {
                    self.speaks(group, version, kind);
                }
                self.action();
            }
            (Deed::Connect, Some(options)) if options.kind != self.resource.kind => {
                self.kind = [options.group.clone(), options.version.clone(), options.kind.clone()];
                self.connect(one, Path::Own);
                if is_proxy(one) {
                    self.connect(one, Path::Further);
                }
            }
            (Deed::Connect, _) => self.text(version),
        }
        (self.kind, self.model) = own;
        self.subresource = "";
    }

    /// A POST to a subresource of an object.
    fn action(&mut self) {
        let mut route = self.route(self.item_path(), Method::Post, "post", "create");
        let kind = &self.resource.kind;
        route.description = format!("create {} of{}{kind}", self.subresource, article(kind));
        self.send(&mut route, "CreateOptions", &[200, 201, 202]);
        self.routes.push(route);
    }

    /// A text that is read with options: `PodLogOptions` are those of the log of a pod.
    fn text(&mut self, version: &Version) {
        let Resource { group, kind, .. } = self.resource;
        let mut route = self.route(self.item_path(), Method::Get, "get", "read");
        route.description = format!("read {} of the specified {kind}", self.subresource);
        let with = format!("{kind}{}Options", title(self.subresource));
        route.parameters.extend(options_of(group, &version.name, &with));
        route.answers = vec![(200, Model::Text)];
        route.produces.insert(0, "text/plain");
        self.routes.push(route);
    }

    /// A stream, with every method that opens one.
    fn connect(&mut self, one: &Subresource, path: Path) {
        const METHODS: [(Method, &str); 7] = [
            (Method::Delete, "delete"),
            (Method::Get, "get"),
            (Method::Head, ""),
            (Method::Options, ""),
            (Method::Patch, "patch"),
            (Method::Post, "create"),
            (Method::Put, "update"),
        ];
        let [group, version, kind] = self.kind.clone();
        for (method, verb) in METHODS {
            if !(one.verbs.contains(&verb) || (verb.is_empty() && is_proxy(one))) {
                continue;
            }
            let mut route = self.route(self.item_path(), method, "connect", "connect");
            let (name, of) = (method.as_str(), &self.resource.kind);
            route.rest = format!("{}{}", title(name), route.rest);
            route.description = format!("connect {} requests to {} of {of}", name.to_uppercase(), one.name);
            route.parameters.retain(|it| it.name != "pretty");
            route.parameters.extend(options_of(&group, &version, &kind));
            if path == Path::Further {
                route.path.push_str("/{path}");
                route.rest.push_str("WithPath");
                route.parameters.push(Parameter::path("path", &self.resource.kind));
            }
            route.answers = vec![(200, Model::Text)];
            route.produces = vec![media::ANY];
            self.routes.push(route);
        }
    }

    /// GET, PATCH or PUT of an object or of its subresource.
    fn item_verb(&mut self, verb: Verb) {
        let (method, action, word, doing) = match verb {
            Verb::Patch => (Method::Patch, "patch", "patch", "partially update"),
            Verb::Update => (Method::Put, "put", "replace", "replace"),
            _ => (Method::Get, "get", "read", "read"),
        };
        let mut route = self.route(self.item_path(), method, action, word);
        let of =
            if self.subresource.is_empty() { String::new() } else { format!(" {} of", self.subresource) };
        route.description = format!("{doing}{of} the specified {}", self.resource.kind);
        match verb {
            Verb::Patch => {
                self.send(&mut route, "PatchOptions", &[200, 201]);
                route.body = Some(Body { model: self.components.meta("Patch").into(), is_required: true });
                route.consumes = media::patches(self.origin, self.features);
            }
            Verb::Update => self.send(&mut route, "UpdateOptions", &[200, 201]),
            _ => route.answers = vec![(200, self.model.clone())],
        }
        self.routes.push(route);
    }

    /// The deprecated watch paths; a list with `watch=true` does the same.
    fn watches(&mut self) {
        if !self.resource.supports(Verb::Watch) {
            return;
        }
        let kind = &self.resource.kind;
        let event = Model::from(self.components.meta("WatchEvent"));
        for extent in self.extents() {
            let mut route = self.list_route(self.collection_path("/watch", *extent), "watchlist", *extent);
            route.description = format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead."
            );
            route.answers = vec![(200, event.clone())];
            self.routes.push(route);
        }
        if self.resource.supports(Verb::Get) {
            let path = format!("{}/{{name}}", self.collection_path("/watch", Extent::Own));
            let mut route = self.list_route(path, "watch", Extent::Own);
            route.parameters.push(Parameter::path("name", kind));
            route.description = format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead, filtered to a single item with the 'fieldSelector' parameter."
            );
            route.answers = vec![(200, event)];
            self.routes.push(route);
        }
    }

    /// The collections that can be listed.
    fn extents(&self) -> &'static [Extent] {
        match self.resource.scope {
            Scope::Namespaced => &[Extent::Own, Extent::AllNamespaces],
            Scope::Cluster => &[Extent::Own],
        }
    }

    /// `/api/v1/namespaces/{namespace}/things`; `prefix` is `/watch` for the old watch paths.
    fn collection_path(&self, prefix: &str, extent: Extent) -> String {
        let Resource { plural, scope, .. } = self.resource;
        match (scope, extent) {
            (Scope::Namespaced, Extent::Own) => {
                format!("{}{prefix}/namespaces/{{namespace}}/{plural}", self.base)
            }
            _ => format!("{}{prefix}/{plural}", self.base),
        }
    }

    fn item_path(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}/{{name}}{slash}{}", self.collection_path("", Extent::Own), self.subresource)
    }

    /// A route that lists or watches.
    fn list_route(&self, path: String, action: &'static str, extent: Extent) -> Route {
        let verb = if action == "list" { "list" } else { "watch" };
        let mut route = self.route(path, Method::Get, action, verb);
        if extent == Extent::AllNamespaces {
            route.parameters.retain(|it| it.name != "namespace");
            route.rest = self.resource.kind.to_string();
        }
        if action == "watchlist" {
            route.rest.push_str("List");
        }
        if extent == Extent::AllNamespaces {
            route.rest.push_str("ForAllNamespaces");
        }
        route.parameters.extend(options("ListOptions"));
        route.produces = media::streams(self.origin, self.features);
        route
    }

    /// The common part of all routes; path parameters are those in the path.
    fn route(&self, path: String, method: Method, action: &'static str, verb: &'static str) -> Route {
        let mut parameters = vec![Parameter::query("pretty")];
        if self.resource.scope == Scope::Namespaced {
            parameters.push(Parameter::path("namespace", &self.resource.kind));
        }
        if path == self.item_path() {
            parameters.push(Parameter::path("name", &self.resource.kind));
        }
        let namespaced = if self.resource.scope == Scope::Namespaced { "Namespaced" } else { "" };
        Route {
            rest: format!("{namespaced}{}{}", self.resource.kind, title(self.subresource)),
            path,
            method,
            action,
            verb,
            description: String::new(),
            kind: Some(self.kind.clone()),
            parameters,
            body: None,
            answers: Vec::new(),
            consumes: vec![media::ANY],
            produces: media::objects(self.origin, self.features),
        }
    }

    /// The route takes an object and returns it.
    fn send(&self, route: &mut Route, with: &str, codes: &[u16]) {
        route.parameters.extend(options(with));
        route.body = Some(Body { model: self.model.clone(), is_required: true });
        route.answers = codes.iter().map(|code| (*code, self.model.clone())).collect();
    }

    fn delete_body(&mut self) -> Body {
        Body { model: self.components.meta("DeleteOptions").into(), is_required: false }
    }
}

/// Whether all methods and paths are forwarded: such a stream can be updated like an object.
fn is_proxy(one: &Subresource) -> bool {
    one.verbs.contains(&"update")
}

/// ` a `, ` an ` or nothing but the space.
pub(super) fn article(noun: &str) -> &'static str {
    match noun.as_bytes() {
        [.., last, b's'] if *last != b's' => " ",
        [b'A' | b'E' | b'I' | b'O' | b'U' | b'a' | b'e' | b'i' | b'o' | b'u', ..] => " an ",
        _ => " a ",
    }
}

/// `Status` of `status`.
pub(super) fn title(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
