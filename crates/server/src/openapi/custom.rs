//! Custom resources in OpenAPI: their routes, and the schemas of their kinds.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, generateBuilder (v1.36.4).

use std::fmt::Write as _;
use std::sync::Arc;

use keelson_object::{Map, SmolStr, Value};
use keelson_registry::catalog::ServedResource;
use keelson_registry::{PublishedSchema, Scope};
use keelson_schema::openapi::{Components, Enums, Form, custom_name};
use keelson_structural::openapi::{CustomKind, definitions};

use super::media;
use super::resource::{article, title};
use super::route::{Body, Method, Model, Parameter, Route, options};

/// Adds the routes of a custom resource, and the schemas that they refer to.
///
/// Every definition has the same routes, whether or not they work at the moment.
pub(super) fn routes(shown: &ServedResource<'_>, components: &mut Components<'_>) -> Vec<Route> {
    let names = Names::of(shown);
    let scale = shown.resource.scale.is_some();
    let place = Place {
        shown,
        item: names.schemas(shown, components),
        list: custom_name(&names.group, &names.version, &names.list_kind).into(),
        status: components.meta("Status").into(),
        scale: scale.then(|| components.kind("autoscaling", "v1", "Scale", None).into()),
        patch: components.meta("Patch").into(),
        delete_options: components.meta("DeleteOptions").into(),
    };
    place.routes()
}

/// A fingerprint of the document of these resources, computed without making the document.
pub(super) fn fingerprint(shown: &[ServedResource<'_>], enums: Enums) -> Vec<u8> {
    let mut text = format!("keelson {} {enums:?}", env!("CARGO_PKG_VERSION"));
    for one in shown {
        let resource = one.resource;
        let published = one.version.published.as_ref();
        // Names contain no spaces: different facts give different texts.
        let _ = write!(
            text,
            "\n{} {} {} {} {} {:?} {} {} {}",
            resource.group,
            one.version.name,
            resource.plural,
            resource.kind,
            Names::of(one).list_kind,
            resource.scope,
            resource.has_status,
            resource.scale.is_some(),
            published.map_or_else(|| "-".to_owned(), |it| it.fingerprint().to_string()),
        );
    }
    text.into_bytes()
}

/// The names of a kind and of its list.
#[derive(Clone)]
struct Names {
    group: SmolStr,
    version: SmolStr,
    kind: SmolStr,
    list_kind: SmolStr,
    plural: SmolStr,
}

impl Names {
    fn of(shown: &ServedResource<'_>) -> Names {
        let ServedResource { resource, version, .. } = shown;
        let list_kind = version.published.as_ref().and_then(|it| it.list_kind());
        Names {
            group: resource.group.clone(),
            version: version.name.clone(),
            kind: resource.kind.clone(),
            list_kind: list_kind.unwrap_or_else(|| format!("{}List", resource.kind).into()),
            plural: resource.plural.clone(),
        }
    }

    /// Adds the schemas of the kind and of its list, and returns the first. Each is made when it is written,
    /// so that a document of thousands of kinds does not need all their schemas at once.
    fn schemas(&self, shown: &ServedResource<'_>, components: &mut Components<'_>) -> Model {
        components.meta("ObjectMeta");
        components.meta("ListMeta");
        let name = |kind: &str| custom_name(&self.group, &self.version, kind);
        let (form, published) = (components.form(), shown.version.published.clone());
        for (at, kind) in [&self.kind, &self.list_kind].into_iter().enumerate() {
            let (names, published) = (self.clone(), published.clone());
            components.given(name(kind), move || {
                // The list refers to the kind and does not contain its schema.
                let source = published.as_ref().filter(|_| at == 0);
                let tree = source.and_then(|it| schema_of(it, form));
                let mut made = names.definitions(form, published.as_ref(), tree.as_ref());
                if at < made.len() { made.swap_remove(at) } else { Map::new() }
            });
        }
        name(&self.kind).into()
    }

    /// The schemas of the kind and of its list.
    fn definitions(
        &self,
        form: Form,
        published: Option<&Arc<dyn PublishedSchema>>,
        schema: Option<&Map>,
    ) -> Vec<Map> {
        let selectable = published.map(|it| it.selectable_fields()).unwrap_or_default();
        let selectable: Vec<&str> = selectable.iter().map(SmolStr::as_str).collect();
        let kind = CustomKind {
            group: &self.group,
            version: &self.version,
            kind: &self.kind,
            list_kind: &self.list_kind,
            plural: &self.plural,
            selectable_fields: &selectable,
        };
        let mut made: Vec<Map> =
            definitions(form, &kind, schema).into_iter().filter_map(|(_, schema)| into_map(schema)).collect();
        if form == Form::V2 {
            made.iter_mut().for_each(drop_defaults);
        }
        made
    }
}

/// The schema of a definition. The v2 form does not describe kinds that keep all unknown fields.
fn schema_of(published: &Arc<dyn PublishedSchema>, form: Form) -> Option<Map> {
    if form == Form::V2 && published.preserves_unknown_fields() {
        return None;
    }
    published.open_api().and_then(into_map)
}

fn into_map(value: Value) -> Option<Map> {
    match value {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

/// The v2 document contains no defaults.
///
/// Upstream: kube-openapi/pkg/handler/default_pruning.go, PruneDefaults (v1.36.4).
fn drop_defaults(schema: &mut Map) {
    schema.remove("default");
    for key in ["items", "additionalProperties"] {
        if let Some(Value::Map(below)) = schema.get_mut(key) {
            drop_defaults(below);
        }
    }
    if let Some(Value::Map(properties)) = schema.get_mut("properties") {
        properties.iter_mut().filter_map(|it| it.1.as_map_mut()).for_each(drop_defaults);
    }
}

/// A resource, and the kinds that its routes accept and return.
struct Place<'r> {
    shown: &'r ServedResource<'r>,
    item: Model,
    list: Model,
    status: Model,
    scale: Option<Model>,
    patch: Model,
    delete_options: Model,
}

/// The operation of a route.
#[derive(Clone, Copy)]
struct Deed {
    method: Method,
    /// The value of `x-kubernetes-action`.
    action: &'static str,
    /// The first word of the operation id, and of the description unless that is worded differently.
    verb: &'static str,
    options: &'static str,
    /// Status codes besides 200.
    codes: &'static [u16],
}

impl Deed {
    const fn new(method: Method, action: &'static str, verb: &'static str, options: &'static str) -> Deed {
        Deed { method, action, verb, options, codes: &[] }
    }

    const fn or(self, codes: &'static [u16]) -> Deed {
        Deed { codes, ..self }
    }
}

const LIST: Deed = Deed::new(Method::Get, "list", "list", "ListOptions");
const CREATE: Deed = Deed::new(Method::Post, "post", "create", "CreateOptions").or(&[201, 202]);
const CLEAR: Deed = Deed::new(Method::Delete, "deletecollection", "delete", "ListOptions");
const READ: Deed = Deed::new(Method::Get, "get", "read", "GetOptions");
const REPLACE: Deed = Deed::new(Method::Put, "put", "replace", "UpdateOptions").or(&[201]);
const DELETE: Deed = Deed::new(Method::Delete, "delete", "delete", "DeleteOptions").or(&[202]);
const PATCH: Deed = Deed::new(Method::Patch, "patch", "patch", "PatchOptions");

impl Place<'_> {
    fn routes(&self) -> Vec<Route> {
        let kind = &self.shown.resource.kind;
        let (collection, item) = (self.collection(), format!("{}/{{name}}", self.collection()));
        let mut routes = Vec::new();
        if self.is_namespaced() {
            let everywhere = format!("{}/{}", self.base(), self.shown.resource.plural);
            let route = self.route(everywhere, "", LIST, &self.list);
            routes.push(Route { rest: format!("{kind}ForAllNamespaces"), ..route });
        }
        routes.push(self.route(collection.clone(), "", LIST, &self.list));
        routes.push(with_body(self.route(collection.clone(), "", CREATE, &self.item), &self.item));
        let mut clear = self.route(collection, "", CLEAR, &self.status);
        clear.rest = format!("collection{}", clear.rest);
        routes.push(clear);
        let mut delete = self.route(item.clone(), "", DELETE, &self.status);
        delete.body = Some(Body { model: self.delete_options.clone(), is_required: false });
        routes.push(delete);
        self.read_and_write(&item, "", &self.item, &mut routes);
        if self.shown.resource.has_status {
            self.read_and_write(&format!("{item}/status"), "status", &self.item, &mut routes);
        }
        if let Some(scale) = &self.scale {
            self.read_and_write(&format!("{item}/scale"), "scale", scale, &mut routes);
        }
        routes
    }

    fn read_and_write(&self, path: &str, below: &'static str, model: &Model, routes: &mut Vec<Route>) {
        let route = |deed: Deed| self.route(path.to_owned(), below, deed, model);
        routes.push(route(READ));
        routes.push(with_body(route(REPLACE), model));
        let patch = with_body(route(PATCH), &self.patch);
        routes.push(Route { consumes: media::custom_patches(), ..patch });
    }

    fn route(&self, path: String, below: &'static str, deed: Deed, model: &Model) -> Route {
        let resource = self.shown.resource;
        let (version, kind) = (&self.shown.version.name, &resource.kind);
        let mut parameters = vec![Parameter::query("pretty")];
        for name in ["namespace", "name"] {
            if path.contains(&format!("{{{name}}}")) {
                parameters.push(Parameter::path(name, kind));
            }
        }
        parameters.extend(options(deed.options));
        let namespaced = if self.is_namespaced() { "Namespaced" } else { "" };
        let codes = [200].into_iter().chain(deed.codes.iter().copied());
        Route {
            rest: format!("{namespaced}{kind}{}", title(below)),
            path,
            method: deed.method,
            action: deed.action,
            verb: deed.verb,
            description: description(deed, below, kind),
            kind: Some([resource.group.clone(), version.clone(), kind.clone()]),
            parameters,
            body: None,
            answers: codes.map(|code| (code, model.clone())).collect(),
            consumes: media::custom_objects(),
            produces: media::custom_objects(),
        }
    }

    fn is_namespaced(&self) -> bool {
        self.shown.resource.scope == Scope::Namespaced
    }

    /// `/apis/example.com/v1`.
    fn base(&self) -> String {
        format!("/apis/{}/{}", self.shown.resource.group, self.shown.version.name)
    }

    /// `/apis/example.com/v1/namespaces/{namespace}/things`.
    fn collection(&self) -> String {
        let namespace = if self.is_namespaced() { "/namespaces/{namespace}" } else { "" };
        format!("{}{namespace}/{}", self.base(), self.shown.resource.plural)
    }
}

fn with_body(route: Route, model: &Model) -> Route {
    Route { body: Some(Body { model: model.clone(), is_required: true }), ..route }
}

fn description(deed: Deed, below: &str, kind: &str) -> String {
    let of = if below.is_empty() { String::new() } else { format!(" {below} of") };
    match deed.action {
        "list" => format!("list objects of kind {kind}"),
        "deletecollection" => format!("delete collection of {kind}"),
        "patch" => format!("partially update{of} the specified {kind}"),
        "post" | "delete" => format!("{}{}{kind}", deed.verb, article(kind)),
        _ => format!("{}{of} the specified {kind}", deed.verb),
    }
}

#[cfg(test)]
mod tests;
