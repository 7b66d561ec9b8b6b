//! Route: one method of one path, from which both forms of OpenAPI are made.

use keelson_object::{Map, SmolStr, Value};
use keelson_schema::openapi;

use super::parameter_text;

/// One operation.
pub(super) struct Route {
    /// `/api/v1/namespaces/{namespace}/things`.
    pub(super) path: String,
    pub(super) method: Method,
    /// The value of `x-kubernetes-action`; empty for paths that are not resources.
    pub(super) action: &'static str,
    /// The first word of the operation id: `read`.
    pub(super) verb: &'static str,
    /// The rest of the operation id: `NamespacedThing`.
    pub(super) rest: String,
    /// The description, in one sentence; may be empty.
    pub(super) description: String,
    /// Group, version and kind of requests and responses.
    pub(super) kind: Option<[SmolStr; 3]>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    /// Status codes of success, and their schemas.
    pub(super) answers: Vec<(u16, Model)>,
    /// Media types of requests.
    pub(super) consumes: Vec<&'static str>,
    /// Media types of responses.
    pub(super) produces: Vec<&'static str>,
}

/// The method of a route. The order is that of documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Method {
    Delete,
    Get,
    Head,
    Options,
    Patch,
    Post,
    Put,
}

impl Method {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Method::Delete => "delete",
            Method::Get => "get",
            Method::Head => "head",
            Method::Options => "options",
            Method::Patch => "patch",
            Method::Post => "post",
            Method::Put => "put",
        }
    }
}

/// The schema of a request or response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Model {
    /// The schema of this name.
    Named(String),
    /// Text, or anything else that is not described.
    Text,
}

impl Model {
    /// The schema, or a reference to it.
    pub(super) fn schema(&self, form: openapi::Form) -> Map {
        match self {
            Model::Named(name) => form.reference(name),
            Model::Text => Map::from_iter([("type".into(), Value::from("string"))]),
        }
    }
}

impl From<String> for Model {
    fn from(name: String) -> Model {
        Model::Named(name)
    }
}

/// The request body.
pub(super) struct Body {
    pub(super) model: Model,
    pub(super) is_required: bool,
}

/// The location of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Path,
    Query,
}

impl Place {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Place::Path => "path",
            Place::Query => "query",
        }
    }
}

/// A path or query parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: SmolStr,
    pub(super) place: Place,
    pub(super) ty: &'static str,
    /// May be empty.
    pub(super) description: SmolStr,
}

impl Parameter {
    /// The path parameter `name` of the path to an object of `kind`.
    pub(super) fn path(name: &'static str, kind: &str) -> Parameter {
        let description = parameter_text::path(kind, name).into();
        Parameter { name: SmolStr::new_static(name), place: Place::Path, ty: "string", description }
    }

    pub(super) fn query(name: &'static str) -> Parameter {
        let description = SmolStr::new_static(parameter_text::query("", name));
        Parameter { name: SmolStr::new_static(name), place: Place::Query, ty: "string", description }
    }
}

/// The query parameters of some options of the meta group.
pub(super) fn options(kind: &str) -> Vec<Parameter> {
    options_of("meta.k8s.io", "v1", kind)
}

/// The query parameters of some options.
pub(super) fn options_of(group: &str, version: &str, kind: &str) -> Vec<Parameter> {
    let query = |it: openapi::Parameter| {
        let description = SmolStr::new_static(parameter_text::query(kind, &it.name));
        Parameter { name: it.name, place: Place::Query, ty: it.ty, description }
    };
    openapi::options(group, version, kind).into_iter().map(query).collect()
}

/// The routes of one path: parameters that they have in common are written once.
pub(super) struct PathRoutes<'r> {
    pub(super) path: &'r str,
    pub(super) routes: Vec<&'r Route>,
}

impl<'r> PathRoutes<'r> {
    /// Routes by path, both in order.
    pub(super) fn group(routes: &'r [Route]) -> Vec<PathRoutes<'r>> {
        let mut sorted: Vec<&Route> = routes.iter().collect();
        sorted.sort_by(|a, b| a.path.cmp(&b.path).then(a.method.cmp(&b.method)));
        let same_path = |a: &&Route, b: &&Route| a.path == b.path;
        sorted.chunk_by(same_path).map(|it| PathRoutes { path: &it[0].path, routes: it.to_vec() }).collect()
    }

    /// The parameters that all routes have, by name.
    pub(super) fn common(&self) -> Vec<&'r Parameter> {
        let (first, others) = self.routes.split_first().expect("a path has a route");
        let everywhere = |it: &&Parameter| others.iter().all(|route| route.parameters.contains(it));
        by_name(first.parameters.iter().filter(everywhere).collect())
    }

    /// The parameters that `route` has and another route does not, by name.
    pub(super) fn own(&self, route: &'r Route) -> Vec<&'r Parameter> {
        let common = self.common();
        by_name(route.parameters.iter().filter(|it| !common.contains(it)).collect())
    }
}

fn by_name(mut parameters: Vec<&Parameter>) -> Vec<&Parameter> {
    parameters.sort_by(|a, b| a.name.cmp(&b.name).then(a.place.cmp(&b.place)));
    parameters
}

/// The description of a status code of success.
pub(super) fn reason(code: u16) -> &'static str {
    match code {
        201 => "Created",
        202 => "Accepted",
        _ => "OK",
    }
}
