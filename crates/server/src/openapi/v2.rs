//! Swagger 2.0: one document for everything.
//!
//! Upstream: kube-openapi/pkg/builder/openapi.go (v1.36.4).

use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_schema::openapi::{Components, Form};

use super::protobuf;
use super::route::{Parameter, PathRoutes, Place, Route, reason};
use super::shared_parameters::SharedParameters;
use super::write::{About, Members, bearer_token, describe, map, schemas, texts};

/// The document that describes `routes`.
pub(super) fn write(routes: &[Route], components: &Components<'_>, about: &About<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut document = Members::open(&mut out);
    document.set("swagger", "2.0");
    document.set("info", about.info());
    let grouped = PathRoutes::group(routes);
    let shared = shared_parameters(&grouped);
    let mut paths = Members::open(document.key("paths"));
    for path in &grouped {
        json::write_map(&path_item(path, &shared), paths.key(path.path));
    }
    paths.close();
    schemas(components, document.key("definitions"));
    let mut parameters = Members::open(document.key("parameters"));
    for (name, parameter) in shared.named() {
        json::write_map(parameter, parameters.key(name));
    }
    parameters.close();
    document.set("securityDefinitions", bearer_token());
    document.set("security", vec![Value::from(map([("BearerToken", Value::List(Vec::new()))]))]);
    document.close();
    out
}

/// The same in protobuf.
pub(super) fn write_protobuf(routes: &[Route], components: &Components<'_>, about: &About<'_>) -> Vec<u8> {
    let mut document = protobuf::v2::Document::default();
    let grouped = PathRoutes::group(routes);
    let shared = shared_parameters(&grouped);
    for path in &grouped {
        document.path(path.path, &path_item(path, &shared));
    }
    for (name, schema) in components.schemas() {
        document.definition(name, &schema);
    }
    for (name, parameter) in shared.named() {
        document.parameter(name, parameter);
    }
    document.finish(&about.info(), &bearer_token())
}

/// The shared parameters of all paths.
fn shared_parameters(paths: &[PathRoutes<'_>]) -> SharedParameters {
    let of_route =
        |route: &&Route| route.parameters.iter().map(parameter).chain(body(route)).collect::<Vec<_>>();
    SharedParameters::collect(paths.iter().flat_map(|path| path.routes.iter().flat_map(of_route)))
}

fn path_item(path: &PathRoutes<'_>, shared: &SharedParameters) -> Map {
    let mut item = Map::new();
    for route in &path.routes {
        let mut operation = Map::new();
        set_types(&mut operation, "consumes", &route.consumes);
        describe(&mut operation, route);
        let mut parameters: Vec<Map> = path.own(route).iter().map(|it| parameter(it)).collect();
        parameters.extend(body(route));
        parameters.sort_by(|a, b| a.str("name").cmp(&b.str("name")));
        set_parameters(&mut operation, parameters, shared);
        set_types(&mut operation, "produces", &route.produces);
        operation.push_new("responses", responses(route));
        operation.push_new("schemes", texts(&["https"]));
        item.push_new(route.method.as_str(), operation);
    }
    set_parameters(&mut item, path.common().iter().map(|it| parameter(it)).collect(), shared);
    item
}

fn set_types(operation: &mut Map, key: &'static str, types: &[&'static str]) {
    if !types.is_empty() {
        operation.push_new(key, texts(types));
    }
}

fn set_parameters(map: &mut Map, parameters: Vec<Map>, shared: &SharedParameters) {
    if !parameters.is_empty() {
        let parameters = parameters.into_iter().map(|it| Value::from(shared.refer(it)));
        map.push_new("parameters", parameters.collect::<Vec<_>>());
    }
}

/// The order of the members is upstream's, because the names of shared parameters depend on it.
fn parameter(parameter: &Parameter) -> Map {
    let mut out = map([("uniqueItems", Value::Bool(true)), ("type", Value::from(parameter.ty))]);
    if !parameter.description.is_empty() {
        out.push_new("description", parameter.description.clone());
    }
    out.push_new("name", parameter.name.clone());
    out.push_new("in", parameter.place.as_str());
    if parameter.place == Place::Path {
        out.push_new("required", true);
    }
    out
}

/// The body is one more parameter.
fn body(route: &Route) -> Option<Map> {
    let body = route.body.as_ref()?;
    let mut out = map([("name", Value::from("body")), ("in", Value::from("body"))]);
    if body.is_required {
        out.push_new("required", true);
    }
    out.push_new("schema", body.model.schema(Form::V2));
    Some(out)
}

fn responses(route: &Route) -> Map {
    let mut responses = Map::new();
    for (code, model) in &route.answers {
        let mut response = map([("description", Value::from(reason(*code)))]);
        response.push_new("schema", model.schema(Form::V2));
        responses.push_new(itoa::Buffer::new().format(*code), response);
    }
    responses.push_new("401", map([("description", Value::from("Unauthorized"))]));
    responses
}
