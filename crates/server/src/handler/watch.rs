//! GET of a collection with `?watch=true`.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use hyper::upgrade::OnUpgrade;
use keelson_registry::options::WatchOptions;
use keelson_registry::{Error as RegistryError, Verb, operation};
use rand::RngExt as _;

use super::Call;
use crate::encode;
use crate::encode::table::Headings;
use crate::error::{Error, Result};
use crate::negotiate::{self, Encoding, Shape};
use crate::observe;
use crate::params::list;
use crate::respond;
use crate::response::{Body, Response, with_type};
use crate::stream::watch::{Beginning, Frames, Look, Tally, Wire, frames, messages};
use crate::stream::websocket::{self, Conversation, Framing};

pub(crate) async fn watch(call: &Call<'_>) -> Result<Response> {
    let output = call.output()?;
    let live = &call.found.live;
    if !live.resource.supports(Verb::Watch) {
        return Err(Error::VerbNotSupported {
            resource: live.resource.group_resource(),
            verb: "watch".into(),
        });
    }
    let settings = &call.facts.server.settings;
    let gates = list::WatchGates { shards: settings.shards, initial_events: settings.initial_events };
    let mut options = list::watch(call.query, &call.info.name, gates)?;
    let look = match output.shape {
        Shape::MetadataList(_) => Look::Impossible,
        shape @ (Shape::Object | Shape::Metadata(_)) if output.encoding == Encoding::Protobuf => {
            Look::Protobuf(encode::protobuf::Frames::new(&call.found, shape))
        }
        Shape::Object => Look::Object,
        Shape::Metadata(version) => Look::Metadata(version),
        Shape::Table(version) => Look::Table(Box::new(call.table(version)?), Headings::Shown),
    };
    let server = call.facts.server;
    let timeout = options.lives.unwrap_or_else(|| draw_timeout(server.settings.min_request_timeout));
    options.lives = Some(timeout);
    let setup = Frames {
        server: Arc::clone(server),
        found: call.found.clone(),
        beginning: begin(call, &options).await?,
        look,
        wire: if output.encoding == Encoding::Cbor { Wire::Cbor } else { Wire::Own },
        timeout,
        tally: Tally {
            series: Arc::clone(call.series),
            received: call.facts.received,
            scope: observe::scope(call.info),
            listed: listed(call),
        },
    };
    negotiate::can_be_streamed(output, call.offer())?;
    if let Some(upgrade) = call.parts.extensions.get::<OnUpgrade>()
        && websocket::is_asked_for(&call.parts.headers)
    {
        return Ok(by_websocket(call, upgrade.clone(), setup, output.encoding));
    }
    let media_type = match output.encoding {
        Encoding::Protobuf => HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch"),
        Encoding::Cbor => HeaderValue::from_static(negotiate::CBOR_SEQUENCE),
        Encoding::Json | Encoding::Yaml => encode::media_type(Encoding::Json),
    };
    Ok(with_type(StatusCode::OK, media_type, Body::stream(frames(setup))))
}

/// The scope of the initial events of a watch; a selector may name a namespace.
///
/// Upstream: apiserver/pkg/endpoints/metrics/metrics.go, CleanListScope (v1.36.4).
fn listed(call: &Call<'_>) -> &'static str {
    match observe::scope(call.info) {
        "cluster" if call.info.field_selector.contains("metadata.namespace=") => "namespace",
        scope => scope,
    }
}

/// Begins the stream. If the revision is too old or too new, the stream itself contains the error.
async fn begin(call: &Call<'_>, options: &WatchOptions) -> Result<Beginning> {
    let is_over = options.lives == Some(Duration::ZERO);
    match operation::watch(&call.found.live, call.namespace(), options).await {
        Ok(_) | Err(RegistryError::TooLargeRevision { .. }) if is_over => Ok(Beginning::Over),
        Ok(watch) => Ok(Beginning::Watch(Box::new(watch))),
        Err(error @ (RegistryError::Expired { .. } | RegistryError::TooLargeRevision { .. })) => {
            Ok(Beginning::Failed(Box::new(respond::watch_error(error))))
        }
        Err(error) => Err(Error::Registry(error)),
    }
}

/// The same events, one per message.
fn by_websocket(call: &Call<'_>, upgrade: OnUpgrade, setup: Frames, encoding: Encoding) -> Response {
    let response = match websocket::shake_hands(&call.parts.headers) {
        Ok(response) => response,
        Err(refusal) => return *refusal,
    };
    let framing = match encoding {
        Encoding::Json | Encoding::Yaml => Framing::Text,
        Encoding::Protobuf | Encoding::Cbor => Framing::Binary,
    };
    let (clock, timeout) = (setup.server.clock.clone(), setup.timeout);
    let record = call.facts.recorded.get().cloned();
    Conversation { upgrade, messages: messages(setup), framing, clock, timeout, record }.begin();
    response
}

/// Between once and twice `least`, so that watches that begin together do not end together.
fn draw_timeout(least: Duration) -> Duration {
    least.mul_f64(rand::rng().random_range(1.0..2.0))
}
