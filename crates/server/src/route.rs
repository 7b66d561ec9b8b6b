//! From what a request is about to who answers it: a lookup in the catalog, or one of the plain endpoints.

use http::Method;
use http::request::Parts;
use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_registry::options::Part;
use keelson_registry::{Catalog, Found, Scope, Verb};

use crate::body::RequestBody;
use crate::chain::{Facts, Granted};
use crate::discovery;
use crate::error::{Error, Result};
use crate::handler::{self, Call};
use crate::observe;
use crate::plain;
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::Response;

/// Answers a request that is granted.
pub(crate) async fn route(
    facts: &Facts<'_>,
    granted: Granted<'_>,
    parts: &Parts,
    body: RequestBody,
) -> Result<Response> {
    let info = granted.info;
    let catalog = facts.server.catalog.load();
    if !info.is_resource_request {
        if let Some(response) = discovery::answer(facts, &catalog, info, parts)? {
            return Ok(response);
        }
        return plain::answer(facts, info, parts).await;
    }
    let (found, operation) = match find(&catalog, info, &parts.method) {
        Err(Error::NoSuchPath) if !facts.server.moments.mux_and_discovery_complete.has_happened() => {
            return Err(Error::NotComplete);
        }
        found => found?,
    };
    let query = Query::of(&parts.uri);
    let series = observe::series(&facts.server.metrics, info, parts, &query);
    let call = Call { facts, user: granted.user, info, parts, query: &query, found };
    let answered = match operation {
        Operation::Get => handler::get::get(&call).await,
        Operation::List => handler::list::list(&call).await,
        Operation::Watch => handler::watch::watch(&call, &series).await,
        Operation::Create => Box::pin(handler::create::create(&call, body)).await,
        Operation::Update(part) => Box::pin(handler::update::update(&call, part, body)).await,
        Operation::Delete => Box::pin(handler::delete::delete(&call, body)).await,
        Operation::DeleteCollection => Box::pin(handler::delete_collection::delete_collection(&call, body)).await,
    };
    let response = answered.unwrap_or_else(|error| crate::respond::answer(error, &parts.headers, &query));
    Ok(observe::observed(facts, response, series))
}

/// What is done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Get,
    List,
    Watch,
    Create,
    Update(Part),
    Delete,
    DeleteCollection,
}

impl Operation {
    fn verb(self) -> Verb {
        match self {
            Operation::Get => Verb::Get,
            Operation::List => Verb::List,
            Operation::Watch => Verb::Watch,
            Operation::Create => Verb::Create,
            Operation::Update(_) => Verb::Update,
            Operation::Delete => Verb::Delete,
            Operation::DeleteCollection => Verb::DeleteCollection,
        }
    }
}

fn find(catalog: &Catalog, info: &RequestInfo, method: &Method) -> Result<(Found, Operation)> {
    let is_core = info.api_prefix == "api";
    // The core group has one address, and a path has no empty parts.
    if is_core != info.group.is_empty() || info.path.starts_with("//") {
        return Err(Error::NoSuchPath);
    }
    let group = catalog.group(&info.group).filter(|it| it.versions.contains(&info.version));
    if group.is_none() {
        return Err(Error::NoSuchPath);
    }
    if info.path.trim_matches('/').contains("//") {
        return Err(Error::NoSuchResource);
    }
    let found = catalog.find(&info.group, &info.version, &info.resource).ok_or(Error::NoSuchResource)?;
    let place = place(info);
    check_scope(&found, info, place)?;
    let operation = operation(&found, info, place, method)?;
    check_names(info, place)?;
    if !found.live.resource.supports(operation.verb()) {
        return Err(Error::MethodNotAllowed);
    }
    Ok((found, operation))
}

/// Which kind of address this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    Collection,
    Item,
    Status,
    Other,
}

fn place(info: &RequestInfo) -> Address {
    match &info.parts[..] {
        [_] => Address::Collection,
        [_, _] => Address::Item,
        [_, _, subresource] if subresource == "status" => Address::Status,
        _ => Address::Other,
    }
}

fn check_scope(found: &Found, info: &RequestInfo, place: Address) -> Result<()> {
    let has_namespace = !namespace(info).is_empty();
    match found.live.resource.scope {
        Scope::Cluster if has_namespace => Err(Error::NoSuchResource),
        Scope::Namespaced if !has_namespace && place != Address::Collection => Err(Error::NoSuchResource),
        _ => Ok(()),
    }
}

fn operation(found: &Found, info: &RequestInfo, place: Address, method: &Method) -> Result<Operation> {
    let resource = &found.live.resource;
    let is_everywhere = resource.scope == Scope::Namespaced && namespace(info).is_empty();
    if info.verb == "proxy" {
        return Err(Error::NoSuchResource);
    }
    match (place, method) {
        (Address::Collection | Address::Item, &Method::GET) if info.verb == "watch" => Ok(Operation::Watch),
        (Address::Collection, &Method::GET) => Ok(Operation::List),
        (Address::Collection, &Method::POST) if !is_everywhere => Ok(Operation::Create),
        (Address::Collection, &Method::DELETE) if !is_everywhere => Ok(Operation::DeleteCollection),
        (Address::Item, &Method::GET) => Ok(Operation::Get),
        (Address::Item, &Method::PUT) => Ok(Operation::Update(Part::Main)),
        (Address::Item, &Method::DELETE) => Ok(Operation::Delete),
        (Address::Item, &Method::PATCH) => Err(patch_not_supported(found)),
        (Address::Status, _) if !resource.has_status => Err(Error::NoSuchResource),
        (Address::Status, &Method::GET) => Ok(Operation::Get),
        (Address::Status, &Method::PUT) => Ok(Operation::Update(Part::Status)),
        (Address::Status, &Method::PATCH) => Err(patch_not_supported(found)),
        (Address::Other, _) => Err(Error::NoSuchResource),
        (Address::Collection | Address::Item | Address::Status, _) => Err(Error::MethodNotAllowed),
    }
}

fn patch_not_supported(found: &Found) -> Error {
    Error::VerbNotSupported { resource: found.live.resource.group_resource(), verb: "patch" }
}

/// The namespace of the address. A namespace itself is at the cluster scope, though its path names it twice.
pub(crate) fn namespace(info: &RequestInfo) -> &str {
    let is_namespace_itself = info.resource == "namespaces" && {
        let rest = info.path.trim_matches('/').split('/').skip_while(|it| *it != "namespaces").skip(1);
        !rest.skip(1).any(|it| it == "namespaces")
    };
    if is_namespace_itself { "" } else { &info.namespace }
}

/// Names that would lead out of their folder are refused before anybody looks for them.
fn check_names(info: &RequestInfo, place: Address) -> Result<()> {
    let check = |what: &str, name: &str| {
        let problems = name_rules::path_segment_name(name);
        if problems.is_empty() {
            return Ok(());
        }
        Err(Error::BadRequest(format!("{what} parameter invalid: {}: {}", quote(name), problems.join(";"))))
    };
    if !info.namespace.is_empty() {
        check("Namespace", &info.namespace)?;
    }
    if place != Address::Collection { check("Name", &info.name) } else { Ok(()) }
}
