//! Handlers: from an authorized request to an operation of the engine, and from its result to a response.

pub(crate) mod action;
pub(crate) mod connect;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod delete_collection;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod patch;
mod recorded;
pub(crate) mod scale;
pub(crate) mod update;
pub(crate) mod watch;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{StatusCode, header};
use keelson_authn::User;
use keelson_codec::{cbor, json, protobuf, yaml};
use keelson_object::scalar::Time;
use keelson_object::{Frozen, Map, SmolStr, Value};
use keelson_registry::decode::{Draft, unread};
use keelson_registry::scale::{API_VERSION as SCALE_VERSION, KIND as SCALE};
use keelson_registry::subresource::{Deed, Subresource};
use keelson_registry::{Catalog, Context, DryRun, Error as RegistryError, Found, Place};
use keelson_schema::Schema;
use keelson_stdx::offload;

use crate::body::RequestBody;
use crate::chain::Facts;
use crate::encode::compress::{Gzip, whole};
use crate::encode::table::{Headings, Table};
use crate::encode::{self, metadata, object};
use crate::error::{Error, Result};
use crate::metrics::Series;
use crate::negotiate::{self, Address, Encoding, Input, MetaVersion, Offer, Output, Protobuf, Shape, text};
use crate::openapi::Offered;
use crate::params::{table, write};
use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::response::{Body, Response, with_type};
use crate::route;

/// How long a write may take, whatever the request's own deadline.
const WRITE_TIME: Duration = Duration::from_secs(34);

/// An authorized request for a resource that is served.
pub(crate) struct Call<'c> {
    pub(crate) facts: &'c Facts<'c>,
    pub(crate) user: &'c Arc<User>,
    pub(crate) info: &'c RequestInfo,
    pub(crate) parts: &'c Parts,
    pub(crate) query: &'c Query<'c>,
    /// The catalog. A request uses one catalog from begin to end.
    pub(crate) catalog: &'c Arc<Catalog>,
    pub(crate) found: Found,
    pub(crate) series: &'c Arc<Series>,
}

impl Call<'_> {
    /// Reads the body.
    async fn read(&self, body: RequestBody) -> Result<Bytes> {
        let body = body.read(self.facts.server.settings.max_body).await?;
        self.series.body(body.len());
        offload::expect(body.len()).await;
        Ok(body)
    }

    fn namespace(&self) -> &str {
        route::namespace(self.info)
    }

    /// The namespace and the name in the URL.
    fn place(&self) -> Place {
        Place::new(self.namespace(), self.info.name.clone())
    }

    /// Refuses clients that accept no representation that this URL has.
    pub(crate) fn check_representation(&self, address: Address) -> Result<()> {
        // Upstream checks this in its router, which does not know custom resources.
        match self.found.live.resource.is_custom() {
            true => Ok(()),
            false => negotiate::has_representation(&self.parts.headers, self.offer(), address),
        }
    }

    /// The representation of the response.
    fn output(&self) -> Result<Output> {
        let resource = &self.found.live.resource;
        let is_action = self.subresource().is_some_and(|it| matches!(it.deed, Deed::Action(_)));
        let tables = if is_action || resource.answers.is_some() { Offered::No } else { Offered::Yes };
        negotiate::output(&self.parts.headers, self.query, self.offer(), tables)
    }

    /// The subresource of the URL, if it is specific to the kind.
    fn subresource(&self) -> Option<&Subresource> {
        let name = &*self.info.subresource;
        self.found.live.resource.subresources.iter().find(|it| it.name == name && !name.is_empty())
    }

    /// Version and kind that are expected in the body.
    fn expected(&self) -> (SmolStr, SmolStr) {
        if &*self.info.subresource == "scale" {
            return (SmolStr::new_static(SCALE_VERSION), SmolStr::new_static(SCALE));
        }
        match self.subresource().and_then(|it| it.kind.as_ref()) {
            Some(foreign) => (foreign.api_version(), foreign.kind.clone()),
            None => (self.found.version().api_version.clone(), self.found.live.resource.kind.clone()),
        }
    }

    /// The encoding of the body.
    fn input(&self) -> Result<Input> {
        let offer = self.offer();
        match negotiate::input(&self.parts.headers, offer.cbor)? {
            Input::Protobuf if offer.protobuf == Protobuf::OfMetadata => Err(Error::UnsupportedMediaType(
                negotiate::unknown_format("application/json, application/yaml"),
            )),
            input => Ok(input),
        }
    }

    fn offer(&self) -> Offer {
        let resource = &self.found.live.resource;
        let protobuf = match (&self.found.version().protobuf, &resource.answers) {
            _ if resource.is_custom() && self.info.subresource != "scale" => Protobuf::OfMetadata,
            (None, None) if !resource.is_custom() => Protobuf::Unknown,
            _ => Protobuf::Offered,
        };
        Offer { protobuf, cbor: self.facts.server.settings.cbor }
    }

    /// The context of a write.
    fn context(&self, dry_run: DryRun, field_manager: &str) -> Context {
        let mut context = Context::new(Arc::clone(self.user), self.facts.server.clock.clone());
        context.verb = self.info.verb.clone();
        context.dry_run = dry_run;
        context.catalog = Some(Arc::clone(self.catalog));
        context.admission = Some(self.facts.server.admission.clone());
        context.authorizer = Some(self.facts.server.authorizer.clone());
        context.field_manager =
            write::field_manager(field_manager, text(&self.parts.headers, header::USER_AGENT));
        context.api_version = self.found.version().api_version.clone();
        context.options = self.options();
        context
    }

    /// The options in the query.
    fn options(&self) -> Value {
        let mut options = Map::new();
        if self.query.get("dryRun").is_some() {
            options.push_new("dryRun", vec![Value::from("All")]);
        }
        for name in ["fieldManager", "fieldValidation"] {
            if let Some(text) = self.query.get(name).filter(|it| !it.is_empty()) {
                options.push_new(name, text);
            }
        }
        Value::Map(options)
    }

    /// Runs a write, and forwards its warnings, whether it succeeds or not.
    ///
    /// Boxed, because a write keeps whole objects while it waits, and every future around it would grow by
    /// that.
    fn run<'r, T>(
        &'r self,
        context: &'r Context,
        work: impl Future<Output = keelson_registry::Result<T>> + Send + 'r,
    ) -> BoxFuture<'r, Result<T>> {
        Box::pin(async move {
            let done = self.facts.server.clock.timeout(WRITE_TIME, work).await;
            self.pass_on(context);
            Ok(done.unwrap_or(Err(RegistryError::Timeout))?)
        })
    }

    /// Forwards warnings, timings and annotations of an operation.
    fn pass_on(&self, context: &Context) {
        self.facts.warnings.extend(context.take_warnings());
        self.facts.timings.extend(context.take_timings());
        if let Some(record) = self.facts.record() {
            let detailed = record.wants_request().then(|| context.take_request_annotations());
            for (key, value) in context.take_annotations().into_iter().chain(detailed.into_iter().flatten()) {
                record.annotate(&key, value);
            }
        }
    }

    /// A body as a tree.
    fn draft(&self, input: Input, body: &Bytes) -> Result<Draft> {
        let unreadable = |error: &dyn std::fmt::Display| {
            let (_, kind) = self.expected();
            let shown = summary(body);
            Error::BadRequest(format!(
                "the object provided is unrecognized (must be of type {kind}): {error} ({shown})"
            ))
        };
        match input {
            Input::Json => {
                let document = json::read(body).map_err(|error| {
                    // The message is upstream's, which does not contain the position.
                    let at = error.position(body);
                    let place = format!("the body is no JSON at line {}, column {}", at.line, at.column);
                    self.facts.warnings.extend([place]);
                    unreadable(&format!("couldn't get version/kind; json parse error: {error}"))
                })?;
                let json::Document { value, duplicates } = document;
                let value = or_empty(value);
                check_head(&value).map_err(|error| unreadable(&error))?;
                if self.lacks_kind(&value) {
                    let text = String::from_utf8_lossy(body);
                    return Err(unreadable(&format!("Object 'Kind' is missing in '{text}'")));
                }
                let has_duplicates = !duplicates.is_empty();
                let every_pair = has_duplicates.then(|| json::read_every_pair(body).ok()).flatten();
                Ok(Draft { value, duplicates, every_pair, ..Draft::default() })
            }
            Input::Yaml => {
                let mut document = yaml::read(body).map_err(|error| unreadable(&error))?;
                let complaints = document.strict_problem().into_iter().collect();
                // Upstream reads YAML by way of JSON with sorted keys.
                document.value.sort_all_keys();
                let value = or_empty(document.value);
                check_head(&value).map_err(|error| unreadable(&error))?;
                if self.lacks_kind(&value) {
                    let json = json::to_bytes(&value);
                    let text = String::from_utf8_lossy(&json);
                    return Err(unreadable(&format!("Object 'Kind' is missing in '{text}'")));
                }
                Ok(Draft { value, complaints, ..Draft::default() })
            }
            Input::Protobuf => {
                let (version, kind) = self.expected();
                let envelope = protobuf::Envelope::read(body).map_err(|error| unreadable(&error))?;
                let value = envelope.or(&version, &kind).decode().map_err(|error| unreadable(&error))?;
                Ok(Draft { value, ..Draft::default() })
            }
            Input::Cbor => {
                let said = cbor::identify(body).map_err(|error| {
                    unreadable(&format!("unable to determine group/version/kind: {error}"))
                })?;
                self.cbor_draft(&said, body)
            }
        }
    }

    /// Whether a custom resource has no kind: it is not taken from the URL.
    fn lacks_kind(&self, value: &Value) -> bool {
        let is_silent = || value.as_map().and_then(|it| it.str("kind")).is_none_or(str::is_empty);
        self.found.live.resource.is_custom() && self.info.subresource != "scale" && is_silent()
    }

    /// Parses a body in CBOR. It is read as the kind that it names; whether that kind is expected here is
    /// checked later.
    fn cbor_draft(&self, said: &cbor::TypeMeta, body: &Bytes) -> Result<Draft> {
        let (version, own_kind) = (self.found.version(), &self.found.live.resource.kind);
        let is_silent = said.kind.is_empty() && said.api_version.is_empty();
        let is_own = said.kind == *own_kind && said.api_version == version.api_version;
        let (group, said_version) = said.api_version.split_once('/').unwrap_or(("", &said.api_version));
        let schema = match &*self.info.subresource {
            "" | "status" if is_silent || is_own => version.schema.clone(),
            _ => Schema::builtin(group, said_version, &said.kind),
        };
        let document = cbor::read_object(body, schema.as_ref().map(Schema::root)).map_err(|error| {
            let (kind, version) =
                if is_silent { (own_kind, &*version.name) } else { (&said.kind, said_version) };
            Error::BadRequest(format!(
                "{kind} in version {version:?} cannot be handled as a {own_kind}: {error}"
            ))
        })?;
        let complaints = document.unknown.map(|at| cbor::Error::Unknown(at).to_string());
        Ok(Draft { value: document.value, complaints: complaints.into_iter().collect(), ..Draft::default() })
    }

    /// A table of this resource.
    fn table(&self, version: MetaVersion) -> Result<Table> {
        Ok(Table {
            found: self.found.clone(),
            version,
            include: table::include_object(self.query)?,
            now: now(self.facts),
        })
    }

    /// One object as a response, in the negotiated shape.
    async fn answer(&self, code: StatusCode, frozen: &Arc<Frozen>, output: Output) -> Result<Response> {
        let size = frozen.json().len();
        if self.is_response_recorded() {
            let compact = offload::run(size, || self.compact(frozen, output.shape)).await;
            self.record_response(|| compact.ok());
        }
        let gzip = Gzip::of(&self.parts.headers);
        if output.encoding == Encoding::Protobuf {
            let make = || encode::protobuf::object(&self.found, frozen, output.shape);
            let body = offload::run(if frozen.has_protobuf() { 0 } else { size }, make).await?;
            let response = with_type(code, encode::media_type(Encoding::Protobuf), Body::full(body));
            return Ok(whole(response, gzip));
        }
        // An object in its stored version is copied, not parsed.
        let is_copied = matches!(output.shape, Shape::Object) && self.found.version().conversion.is_none();
        let make = || self.compact(frozen, output.shape);
        let compact = offload::run(if is_copied { 0 } else { size }, make).await?;
        encode::one(code, compact, output, gzip).await
    }

    /// One object as compact JSON.
    fn compact(&self, frozen: &Arc<Frozen>, shape: Shape) -> Result<Bytes> {
        Ok(match shape {
            Shape::Object => object::whole(&self.found.version().head, &*self.found.show(frozen)?),
            Shape::Table(version) => self.table(version)?.of_one(frozen, Headings::Shown),
            Shape::Metadata(version) => {
                let mut out = bytes::BytesMut::new();
                metadata::write_metadata(&mut out, version, frozen);
                out.freeze()
            }
            Shape::MetadataList(_) => {
                let kind = &self.found.live.resource.kind;
                return Err(Error::NotAcceptable(format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
                )));
            }
        })
    }
}

/// A body of `null` is the same as one without fields.
fn or_empty(value: Value) -> Value {
    if value.is_null() { Value::Map(Map::new()) } else { value }
}

/// Whether the kind of a body can be determined.
fn check_head(value: &Value) -> std::result::Result<(), String> {
    if let Some(problem) = unread(value) {
        return Err(problem);
    }
    let said = value.as_map().and_then(|map| map.str("apiVersion")).unwrap_or_default();
    if said.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {said}"));
    }
    Ok(())
}

fn now(facts: &Facts<'_>) -> Time {
    Time::from_unix(i64::try_from(facts.server.clock.unix_seconds()).unwrap_or(i64::MAX))
}

/// The beginning of a body that cannot be read.
///
/// Upstream: apiserver/pkg/endpoints/handlers/rest.go, summarizeData (v1.36.4).
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (start, more) = if body.len() > SHOWN { (&body[..SHOWN], " ...") } else { (body, "") };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let hex: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::summary;

    #[test]
    fn bodies_are_summed_up() {
        assert_eq!(summary(b""), "<empty>");
        assert_eq!(summary(b"{bad"), "{bad");
        assert_eq!(summary(b"ab"), "6162");
        assert_eq!(summary(&[b'{'; 40]), format!("{} ...", "{".repeat(30)));
    }
}
