//! GET of a collection.

use std::sync::Arc;

use http::StatusCode;
use keelson_object::Frozen;
use keelson_registry::operation::{self, Listing};
use keelson_registry::{Error as RegistryError, Found};

use super::Call;
use crate::encode;
use crate::encode::compress::Gzip;
use crate::encode::list::{Item, ListHead, ListMeta};
use crate::error::{Error, Result};
use crate::negotiate::{Encoding, Output, Shape};
use crate::params::list;
use crate::response::Response;

pub(crate) async fn list(call: &Call<'_>) -> Result<Response> {
    let output = call.output()?;
    let options = list::list(call.query, &call.info.name, call.facts.server.settings.shards)?;
    let listing = operation::list(&call.found.live, call.namespace(), &options).await?;
    answer(call, listing, output).await
}

/// Many objects as an answer, in the shape that was agreed on.
pub(super) async fn answer(call: &Call<'_>, listing: Listing, output: Output) -> Result<Response> {
    let gzip = Gzip::of(&call.parts.headers);
    // Only the kind's own list has a place for it.
    let listing = match output.shape {
        Shape::Object => listing,
        Shape::Table(_) | Shape::Metadata(_) | Shape::MetadataList(_) => Listing { shard: None, ..listing },
    };
    if output.encoding == Encoding::Protobuf {
        return encode::protobuf::list(&call.found, listing, output.shape, gzip).await;
    }
    let Listing { mut items, revision, continue_token, remaining, shard } = listing;
    let meta = ListMeta { revision, continue_token, remaining, shard };
    let resource = &call.found.live.resource;
    let (head, item) = match output.shape {
        Shape::Table(version) => {
            let pieces = call.table(version)?.pieces(&meta, items);
            return Ok(encode::pieces(StatusCode::OK, pieces, output, gzip));
        }
        Shape::Metadata(_) => {
            return Err(Error::NotAcceptable(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({}List)",
                resource.kind
            )));
        }
        Shape::MetadataList(version) => (
            ListHead {
                kind: "PartialObjectMetadataList".to_owned(),
                api_version: version.api_version().into(),
            },
            Item::Metadata(version),
        ),
        Shape::Object => {
            let version = call.found.version();
            if version.conversion.is_some() {
                items = shown(&call.found, items).await?;
            }
            let item =
                if resource.items_carry_head { Item::WithHead(version.head.clone()) } else { Item::Bare };
            (
                ListHead { kind: format!("{}List", resource.kind), api_version: version.api_version.clone() },
                item,
            )
        }
    };
    if output.encoding == Encoding::Cbor {
        let schema = call.found.version().schema.clone();
        let list = encode::cbor::List { head, meta, schema, item };
        return Ok(encode::ready(StatusCode::OK, Encoding::Cbor, list.pieces(items), gzip));
    }
    let pieces = encode::list::list(&head, &meta, items, item);
    Ok(encode::pieces(StatusCode::OK, pieces, output, gzip))
}

/// Objects as a version shows them whose shape is not the stored one, made off the threads that serve connections.
async fn shown(found: &Found, items: Vec<Arc<Frozen>>) -> Result<Vec<Arc<Frozen>>> {
    let found = found.clone();
    let convert = move || items.iter().map(|it| found.show(it)).collect::<keelson_registry::Result<_>>();
    let converted = tokio::task::spawn_blocking(convert).await;
    Ok(converted.unwrap_or_else(|_| Err(RegistryError::Bug("a list was not converted".to_owned())))?)
}
