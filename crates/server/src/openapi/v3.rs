//! OpenAPI 3.0: one document per group version.
//!
//! Upstream: kube-openapi/pkg/builder3/openapi.go (v1.36.4).

use keelson_codec::json;
use keelson_object::{Map, Value};
use keelson_schema::openapi::{Components, Form};

use super::protobuf;
use super::route::{Model, Parameter, PathRoutes, Place, Route, reason};
use super::write::{About, Members, bearer_token, describe, map, schemas};

/// The document that describes `routes`.
pub(super) fn write(routes: &[Route], components: &Components<'_>, about: &About<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut document = Members::open(&mut out);
    document.set("openapi", "3.0.0");
    document.set("info", about.info());
    let mut paths = Members::open(document.key("paths"));
    for path in PathRoutes::group(routes) {
        json::write_map(&path_item(&path), paths.key(path.path));
    }
    paths.close();
    let mut parts = Members::open(document.key("components"));
    if !components.is_empty() {
        schemas(components, parts.key("schemas"));
    }
    if about.has_security {
        parts.set("securitySchemes", bearer_token());
    }
    parts.close();
    document.close();
    out
}

/// The same in protobuf.
pub(super) fn write_protobuf(routes: &[Route], components: &Components<'_>, about: &About<'_>) -> Vec<u8> {
    let mut document = protobuf::v3::Document::default();
    for path in PathRoutes::group(routes) {
        document.path(path.path, &path_item(&path));
    }
    for (name, schema) in components.schemas() {
        document.schema(name, &schema);
    }
    document.finish(&about.info(), about.has_security.then(bearer_token).as_ref())
}

fn path_item(path: &PathRoutes<'_>) -> Map {
    let mut item = Map::new();
    for route in &path.routes {
        let mut operation = Map::new();
        describe(&mut operation, route);
        set_parameters(&mut operation, &path.own(route));
        if let Some(body) = &route.body {
            let mut request = map([("content", content(&route.consumes, &body.model).into())]);
            if body.is_required {
                request.push_new("required", true);
            }
            operation.push_new("requestBody", request);
        }
        operation.push_new("responses", responses(route));
        item.push_new(route.method.as_str(), operation);
    }
    set_parameters(&mut item, &path.common());
    item
}

fn set_parameters(map: &mut Map, parameters: &[&Parameter]) {
    if !parameters.is_empty() {
        let parameters: Vec<Value> = parameters.iter().map(|it| parameter(it).into()).collect();
        map.push_new("parameters", parameters);
    }
}

fn parameter(parameter: &Parameter) -> Map {
    let schema = map([("type", Value::from(parameter.ty)), ("uniqueItems", Value::Bool(true))]);
    let mut out =
        map([("in", Value::from(parameter.place.as_str())), ("name", Value::from(parameter.name.clone()))]);
    if !parameter.description.is_empty() {
        out.push_new("description", parameter.description.clone());
    }
    if parameter.place == Place::Path {
        out.push_new("required", true);
    }
    out.push_new("schema", schema);
    out
}

fn content(types: &[&'static str], model: &Model) -> Map {
    let media = |ty: &&'static str| ((*ty).into(), map([("schema", model.schema(Form::V3).into())]).into());
    types.iter().map(media).collect()
}

fn responses(route: &Route) -> Map {
    let mut responses = Map::new();
    for (code, model) in &route.answers {
        let mut response = map([("description", Value::from(reason(*code)))]);
        response.push_new("content", content(&route.produces, model));
        responses.push_new(itoa::Buffer::new().format(*code), response);
    }
    responses.push_new("401", map([("description", Value::from("Unauthorized"))]));
    responses
}
