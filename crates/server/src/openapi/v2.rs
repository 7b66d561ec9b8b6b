//! Swagger 2.0: one document for everything.
//!
//! Upstream: kube-openapi/pkg/builder/openapi.go (v1.36.4). Parameters that many paths share are written in place:
//! upstream refers to them by a hash of their description.

use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_schema::openapi::{Components, Form};

use super::route::{Parameter, PathRoutes, Place, Route, reason};
use super::write::{Members, about, bearer_token, describe, map, schemas, texts};
use super::{Settings, protobuf};

/// The document that describes `routes`.
pub(super) fn write(routes: &[Route], components: &Components<'_>, settings: &Settings) -> Vec<u8> {
    let mut out = Vec::new();
    let mut document = Members::open(&mut out);
    document.set("swagger", "2.0");
    document.set("info", about(&settings.version));
    let mut paths = Members::open(document.key("paths"));
    for path in PathRoutes::group(routes) {
        json::write_map(&path_item(&path), paths.key(path.path));
    }
    paths.close();
    schemas(components, document.key("definitions"));
    document.set("securityDefinitions", bearer_token());
    document.set("security", vec![Value::from(map([("BearerToken", Value::List(Vec::new()))]))]);
    document.close();
    out
}

/// The same in protobuf.
pub(super) fn write_protobuf(routes: &[Route], components: &Components<'_>, settings: &Settings) -> Vec<u8> {
    let mut document = protobuf::v2::Document::default();
    for path in PathRoutes::group(routes) {
        document.path(path.path, &path_item(&path));
    }
    for (name, schema) in components.schemas() {
        document.definition(name, &schema);
    }
    document.finish(&about(&settings.version), &bearer_token())
}

fn path_item(path: &PathRoutes<'_>) -> Map {
    let mut item = Map::new();
    for route in &path.routes {
        let mut operation = Map::new();
        set_types(&mut operation, "consumes", &route.consumes);
        describe(&mut operation, route);
        let mut parameters: Vec<Map> = path.own(route).iter().map(|it| parameter(it)).collect();
        parameters.extend(body(route));
        parameters.sort_by(|a, b| a.str("name").cmp(&b.str("name")));
        set_parameters(&mut operation, parameters);
        set_types(&mut operation, "produces", &route.produces);
        operation.push_new("responses", responses(route));
        operation.push_new("schemes", texts(&["https"]));
        item.push_new(route.method.as_str(), operation);
    }
    set_parameters(&mut item, path.common().iter().map(|it| parameter(it)).collect());
    item
}

fn set_types(operation: &mut Map, key: &'static str, types: &[&'static str]) {
    if !types.is_empty() {
        operation.push_new(key, texts(types));
    }
}

fn set_parameters(map: &mut Map, parameters: Vec<Map>) {
    if !parameters.is_empty() {
        map.push_new("parameters", parameters.into_iter().map(Value::from).collect::<Vec<_>>());
    }
}

fn parameter(parameter: &Parameter) -> Map {
    let mut out =
        map([("in", Value::from(parameter.place.as_str())), ("name", Value::from(parameter.name.clone()))]);
    if parameter.place == Place::Path {
        out.push_new("required", true);
    }
    out.push_new("type", parameter.ty);
    out.push_new("uniqueItems", true);
    out
}

/// The body is one more parameter.
fn body(route: &Route) -> Option<Map> {
    let body = route.body.as_ref()?;
    let mut out = map([("in", Value::from("body")), ("name", Value::from("body"))]);
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
