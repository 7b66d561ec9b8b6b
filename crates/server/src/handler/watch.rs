//! GET of a collection with `?watch=true`.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use keelson_registry::{Error as RegistryError, Verb, operation};
use rand::RngExt as _;

use super::Call;
use crate::encode;
use crate::encode::table::Headings;
use crate::error::{Error, Result};
use crate::metrics::Series;
use crate::negotiate::{self, Encoding, Shape};
use crate::params::list;
use crate::respond;
use crate::response::{Body, Response, with_type};
use crate::stream::watch::{Beginning, Frames, Look, Wire, frames};

pub(crate) async fn watch(call: &Call<'_>, series: &Arc<Series>) -> Result<Response> {
    let output = negotiate::stream(&call.parts.headers, call.offer())?;
    let live = &call.found.live;
    if !live.resource.supports(Verb::Watch) {
        return Err(Error::VerbNotSupported { resource: live.resource.group_resource(), verb: "watch" });
    }
    let mut options = list::watch(call.query, &call.info.name)?;
    let look = match output.shape {
        shape @ (Shape::Object | Shape::Metadata(_) | Shape::MetadataList(_))
            if output.encoding == Encoding::Protobuf =>
        {
            Look::Protobuf(encode::protobuf::Frames::new(&call.found, shape))
        }
        Shape::Object => Look::Object,
        Shape::Metadata(version) | Shape::MetadataList(version) => Look::Metadata(version),
        Shape::Table(version) => Look::Table(Box::new(call.table(version)?), Headings::Shown),
    };
    let server = call.facts.server;
    let timeout = options.lives.unwrap_or_else(|| draw_timeout(server.settings.min_request_timeout));
    options.lives = Some(timeout);
    let beginning = match operation::watch(live, call.namespace(), &options).await {
        Ok(watch) => Beginning::Watch(Box::new(watch)),
        // The client learns within the stream where it must begin again.
        Err(error @ (RegistryError::Expired { .. } | RegistryError::TooLargeRevision { .. })) => {
            Beginning::Failed(Box::new(respond::watch_error(error)))
        }
        Err(error) => return Err(Error::Registry(error)),
    };
    let frames_body = frames(Frames {
        server: Arc::clone(server),
        found: call.found.clone(),
        beginning,
        look,
        wire: if output.encoding == Encoding::Cbor { Wire::Cbor } else { Wire::Own },
        timeout,
        series: Arc::clone(series),
    });
    let media_type = match output.encoding {
        Encoding::Protobuf => HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch"),
        Encoding::Cbor => HeaderValue::from_static(negotiate::CBOR_SEQUENCE),
        Encoding::Json | Encoding::Yaml => encode::media_type(Encoding::Json),
    };
    Ok(with_type(StatusCode::OK, media_type, Body::stream(frames_body)))
}

/// Between once and twice `least`, so that watches that begin together do not end together.
fn draw_timeout(least: Duration) -> Duration {
    least.mul_f64(rand::rng().random_range(1.0..2.0))
}
