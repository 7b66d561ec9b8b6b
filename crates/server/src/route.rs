//! Routing: from RequestInfo to a handler. A lookup in the catalog, or one of the plain endpoints.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Method;
use http::request::Parts;
use keelson_object::scalar::quote;
use keelson_object::selector::name_rules;
use keelson_registry::catalog::Origin;
use keelson_registry::options::Part;
use keelson_registry::subresource::Deed;
use keelson_registry::{Catalog, Error as RegistryError, Found, Scope, Subresource, Verb};
use keelson_stdx::offload;

use crate::body::RequestBody;
use crate::chain::{Facts, Granted};
use crate::discovery;
use crate::error::{Error, Result};
use crate::handler::{self, Call};
use crate::negotiate;
use crate::observe;
use crate::plain;
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::respond;
use crate::response::Response;

/// The user of API servers.
const OWN_USER: &str = "system:apiserver";

/// Answers an authorized request.
pub(crate) async fn route(
    facts: &Facts<'_>,
    granted: Granted<'_>,
    parts: &Parts,
    body: RequestBody,
) -> Result<Response> {
    let info = granted.info;
    let catalog = facts.server.catalog.load();
    if !info.is_resource_request {
        if let Some(response) = discovery::answer(facts, &catalog, info, parts).await? {
            return Ok(response);
        }
        return plain::answer(facts, info, parts, body).await;
    }
    let (found, operation) = match find(&catalog, info, &parts.method) {
        Err(Error::NoSuchPath) if !facts.server.moments.mux_and_discovery_complete.has_happened() => {
            return Err(Error::NotComplete);
        }
        found => found?,
    };
    let query = Query::of(&parts.uri);
    let series = observe::series(&facts.server.metrics, info, parts, &query);
    if let Some(deprecation) = &found.version().deprecation {
        let (version, kind) = (&found.version().api_version, &found.live.resource.kind);
        let own = found.version().deprecation_warning.as_ref().map(ToString::to_string);
        facts.warnings.extend([own.unwrap_or_else(|| deprecation.warning(version, kind))]);
        observe::deprecated(facts, info, deprecation);
    }
    if granted.user.name == OWN_USER {
        series.own();
    }
    let (user, catalog, query, series) = (granted.user, &catalog, &query, &series);
    let call = Call { facts, user, info, parts, query, catalog, found, series };
    let representation = match operation {
        Operation::Connect(_) => Ok(()),
        Operation::List | Operation::Watch => call.check_representation(negotiate::Address::Collection),
        _ => call.check_representation(negotiate::Address::One),
    };
    let cbor = facts.server.settings.cbor;
    let refused = |error| respond::resource_answer(error, &parts.headers, query, cbor);
    if let Err(error) = representation {
        return Ok(observe::observed(facts, query, refused(error), Arc::clone(series)));
    }
    let answered = match operation {
        Operation::Get => handler::get::get(&call).await,
        Operation::List => handler::list::list(&call).await,
        Operation::Watch => handler::watch::watch(&call).await,
        Operation::Create => scoped(handler::create::create(&call, body)).await,
        Operation::Update(part) => scoped(handler::update::update(&call, part, body)).await,
        Operation::Patch(part) => scoped(handler::patch::patch(&call, part, body)).await,
        Operation::Scale(step) => match (step, call.found.live.resource.scale.as_ref()) {
            (ScaleStep::Get, Some(at)) => scoped(handler::scale::get(&call, at)).await,
            (ScaleStep::Update, Some(at)) => scoped(handler::scale::update(&call, at, body)).await,
            (ScaleStep::Patch, Some(at)) => scoped(handler::scale::patch(&call, at, body)).await,
            (_, None) => Err(Error::NoSuchResource),
        },
        Operation::Act(at) | Operation::Connect(at) => {
            scoped(below(&call, &call.found.live.resource.subresources[at], body)).await
        }
        Operation::Delete => scoped(handler::delete::delete(&call, body)).await,
        Operation::DeleteCollection => {
            scoped(handler::delete_collection::delete_collection(&call, body)).await
        }
    };
    let response = answered.unwrap_or_else(refused);
    Ok(observe::observed(facts, query, response, Arc::clone(series)))
}

/// Runs work that reads and writes whole objects, which may be large. Boxed, because the future is large
/// itself.
fn scoped<'f, F: Future + Send + 'f>(work: F) -> BoxFuture<'f, F::Output> {
    Box::pin(offload::scope(work))
}

/// The operation on a subresource.
async fn below(call: &Call<'_>, subresource: &Subresource, body: RequestBody) -> Result<Response> {
    match (&subresource.deed, &subresource.kind) {
        (Deed::Action(action), Some(kind)) => handler::action::act(call, kind, action, body).await,
        (Deed::Connect, Some(kind)) if kind.kind != call.found.live.resource.kind => {
            handler::connect::open(call, subresource.name, kind).await
        }
        (Deed::NotHere(why), _) => handler::connect::refuse(call, subresource.name, why).await,
        _ => handler::connect::refuse(call, subresource.name, handler::connect::NO_NODES).await,
    }
}

/// An operation on a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Get,
    List,
    Watch,
    Create,
    Update(Part),
    Patch(Part),
    Scale(ScaleStep),
    /// An action: the subresource at this position.
    Act(usize),
    /// A stream: the subresource at this position.
    Connect(usize),
    Delete,
    DeleteCollection,
}

/// An operation on the scale of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScaleStep {
    Get,
    Update,
    Patch,
}

impl Operation {
    /// The verb that the resource must support; subresources have their own.
    fn verb(self) -> Option<Verb> {
        Some(match self {
            Operation::Get | Operation::Scale(ScaleStep::Get) => Verb::Get,
            Operation::List => Verb::List,
            Operation::Watch => Verb::Watch,
            Operation::Create => Verb::Create,
            Operation::Update(_) | Operation::Scale(ScaleStep::Update) => Verb::Update,
            Operation::Patch(_) | Operation::Scale(ScaleStep::Patch) => Verb::Patch,
            Operation::Delete => Verb::Delete,
            Operation::DeleteCollection => Verb::DeleteCollection,
            Operation::Act(_) | Operation::Connect(_) => return None,
        })
    }
}

fn find(catalog: &Catalog, info: &RequestInfo, method: &Method) -> Result<(Found, Operation)> {
    let is_core = info.api_prefix == "api";
    // The core group is served at `/api` only, and a path has no empty parts.
    if is_core != info.group.is_empty() || info.path.starts_with("//") {
        return Err(Error::NoSuchPath);
    }
    let group = catalog.group(&info.group).ok_or(Error::NoSuchPath)?;
    let empty = EmptyParts::of(info);
    // Upstream's router knows the built-in group versions. Other paths that custom resources do not answer
    // are not found.
    let unknown = || match group.origin(&info.version) {
        Origin::Custom if !group.is_builtin() || group.versions.contains(&info.version) => Error::NoSuchPath,
        Origin::Builtin | Origin::Custom => Error::NoSuchResource,
    };
    if !group.versions.contains(&info.version) || empty.elsewhere {
        return Err(unknown());
    }
    let found = catalog.find(&info.group, &info.version, &info.resource).ok_or_else(unknown)?;
    let place = place(info);
    check_scope(&found, info, place, empty.namespace).map_err(|error| {
        match found.live.resource.is_custom() {
            true => Error::NoSuchPath,
            false => error,
        }
    })?;
    // Of custom resources, only lists and watches span all namespaces.
    if found.live.resource.is_custom()
        && found.live.resource.scope == Scope::Namespaced
        && namespace(info).is_empty()
        && !matches!(info.verb.as_str(), "list" | "watch")
    {
        return Err(Error::NoSuchPath);
    }
    let operation = operation(&found, info, (place, empty.namespace), method)
        .map_err(|error| if found.live.resource.is_custom() { custom(&found, info, error) } else { error })?;
    if operation.verb().is_some_and(|verb| !found.live.resource.supports(verb)) {
        return Err(Error::MethodNotAllowed);
    }
    empty.check(operation)?;
    check_names(info, place)?;
    Ok((found, operation))
}

/// The error of custom resources for what they do not support.
///
/// Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, ServeHTTP and its serve functions
/// (v1.36.4).
fn custom(found: &Found, info: &RequestInfo, error: Error) -> Error {
    let resource = found.live.resource.group_resource();
    match error {
        Error::NoSuchResource => {
            Error::Registry(RegistryError::NotFound { resource, name: info.name.to_string() })
        }
        Error::MethodNotAllowed => Error::VerbNotSupported { resource, verb: info.verb.clone() },
        error => error,
    }
}

/// Empty parts of a path: `/api/v1/namespaces//configmaps` has an empty namespace. A path parameter may be
/// empty, a fixed part may not.
struct EmptyParts {
    namespace: bool,
    name: bool,
    /// An empty part that is not a parameter.
    elsewhere: bool,
}

impl EmptyParts {
    fn of(info: &RequestInfo) -> EmptyParts {
        let path = info.path.trim_matches('/');
        let count = if path.contains("//") { path.split('/').filter(|it| it.is_empty()).count() } else { 0 };
        let name = info.parts.get(1).is_some_and(|it| it.is_empty());
        let is_below = info.parts.first().is_some_and(|it| it != "namespaces");
        let namespace = count > 0 && is_below && info.namespace.is_empty() && path.contains("/namespaces//");
        let known = usize::from(namespace) + usize::from(name);
        EmptyParts { namespace, name, elsewhere: count > known }
    }

    /// Refuses operations that need the empty parameter. Without a namespace, lists and watches span all of
    /// them.
    fn check(&self, operation: Operation) -> Result<()> {
        if self.name {
            return Err(Error::BadRequest("name must be provided".to_owned()));
        }
        match operation {
            Operation::List | Operation::Watch => Ok(()),
            _ if self.namespace => Err(Error::BadRequest("Namespace parameter required.".to_owned())),
            _ => Ok(()),
        }
    }
}

/// The kind of URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Address {
    Collection,
    Item,
    Status,
    Scale,
    Other,
}

fn place(info: &RequestInfo) -> Address {
    match &info.parts[..] {
        [_] => Address::Collection,
        [_, _] => Address::Item,
        [_, _, subresource] if subresource == "status" => Address::Status,
        [_, _, subresource] if subresource == "scale" => Address::Scale,
        _ => Address::Other,
    }
}

fn check_scope(found: &Found, info: &RequestInfo, place: Address, is_empty: bool) -> Result<()> {
    let has_namespace = is_empty || !namespace(info).is_empty();
    // Resources without stored objects have no names, and cannot be listed across namespaces.
    let is_stored = found.live.resource.answers.is_none();
    match found.live.resource.scope {
        _ if !is_stored && place != Address::Collection => Err(Error::NoSuchResource),
        Scope::Cluster if has_namespace => Err(Error::NoSuchResource),
        Scope::Namespaced if !has_namespace && (!is_stored || place != Address::Collection) => {
            Err(Error::NoSuchResource)
        }
        _ => Ok(()),
    }
}

fn operation(
    found: &Found,
    info: &RequestInfo,
    (place, is_empty): (Address, bool),
    method: &Method,
) -> Result<Operation> {
    let resource = &found.live.resource;
    let is_everywhere = resource.scope == Scope::Namespaced && namespace(info).is_empty() && !is_empty;
    if info.verb == "proxy" {
        return Err(Error::NoSuchResource);
    }
    // The request was authorized as a watch: the deprecated watch path must not do anything else.
    if info.verb == "watch" {
        return match (place, method) {
            (Address::Collection | Address::Item, &Method::GET) => Ok(Operation::Watch),
            (Address::Collection | Address::Item, _) => Err(Error::MethodNotAllowed),
            _ => Err(Error::NoSuchResource),
        };
    }
    match (place, method) {
        (Address::Collection, &Method::GET) => Ok(Operation::List),
        (Address::Collection, &Method::POST) if !is_everywhere => Ok(Operation::Create),
        (Address::Collection, &Method::DELETE) if !is_everywhere => Ok(Operation::DeleteCollection),
        (Address::Item, &Method::GET) => Ok(Operation::Get),
        (Address::Item, &Method::PUT) => Ok(Operation::Update(Part::Main)),
        (Address::Item, &Method::DELETE) => Ok(Operation::Delete),
        (Address::Item, &Method::PATCH) => Ok(Operation::Patch(Part::Main)),
        (Address::Status, _) if !resource.has_status => Err(Error::NoSuchResource),
        (Address::Status, &Method::GET) => Ok(Operation::Get),
        (Address::Status, &Method::PUT) => Ok(Operation::Update(Part::Status)),
        (Address::Status, &Method::PATCH) => Ok(Operation::Patch(Part::Status)),
        (Address::Scale, _) => scale(found, method),
        (Address::Other, _) => subresource(found, info, method),
        (Address::Collection | Address::Item | Address::Status, _) => Err(Error::MethodNotAllowed),
    }
}

fn scale(found: &Found, method: &Method) -> Result<Operation> {
    if found.live.resource.scale.is_none() {
        return Err(Error::NoSuchResource);
    }
    match *method {
        Method::GET => Ok(Operation::Scale(ScaleStep::Get)),
        Method::PUT => Ok(Operation::Scale(ScaleStep::Update)),
        Method::PATCH => Ok(Operation::Scale(ScaleStep::Patch)),
        _ => Err(Error::MethodNotAllowed),
    }
}

/// The operation of a method on a subresource that is specific to the kind.
fn subresource(found: &Found, info: &RequestInfo, method: &Method) -> Result<Operation> {
    let [_, _, name, rest @ ..] = &info.parts[..] else { return Err(Error::NoSuchResource) };
    let all = &found.live.resource.subresources;
    let at = all.iter().position(|it| it.name == name).ok_or(Error::NoSuchResource)?;
    let (deed, verbs) = (&all[at].deed, all[at].verbs);
    let has = |verb: &str| verbs.contains(&verb);
    match (deed, method) {
        (Deed::Connect | Deed::NotHere(_), _) if has(connect_verb(method)) => Ok(Operation::Connect(at)),
        (Deed::Part | Deed::Action(_), _) if !rest.is_empty() => Err(Error::NoSuchResource),
        (Deed::Part, &Method::GET) if has("get") => Ok(Operation::Get),
        (Deed::Part, &Method::PUT) if has("update") => Ok(Operation::Update(Part::Named(all[at].name))),
        (Deed::Part, &Method::PATCH) if has("patch") => Ok(Operation::Patch(Part::Named(all[at].name))),
        (Deed::Action(_), &Method::POST) => Ok(Operation::Act(at)),
        _ => Err(Error::MethodNotAllowed),
    }
}

/// The discovery verb of a method of a stream.
fn connect_verb(method: &Method) -> &'static str {
    match *method {
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "get",
    }
}

/// The namespace of the URL. A namespace itself is cluster-scoped, although its path contains it twice.
pub(crate) fn namespace(info: &RequestInfo) -> &str {
    let is_namespace_itself = info.resource == "namespaces" && {
        let rest = info.path.trim_matches('/').split('/').skip_while(|it| *it != "namespaces").skip(1);
        !rest.skip(1).any(|it| it == "namespaces")
    };
    if is_namespace_itself { "" } else { &info.namespace }
}

/// Refuses names that are not valid path segments, such as `..`, before the object is looked up.
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
