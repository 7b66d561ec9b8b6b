//! GET of a collection.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use keelson_audit::Record;
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
    call.record_response(|| recorded(call, listing.clone(), output.shape));
    if output.encoding == Encoding::Protobuf {
        return encode::protobuf::list(&call.found, listing, output.shape, gzip).await;
    }
    let Listing { mut items, revision, continue_token, remaining, shard } = listing;
    let meta = ListMeta { revision, continue_token, remaining, shard };
    if let Shape::Table(version) = output.shape {
        let pieces = call.table(version)?.pieces(&meta, items);
        return Ok(encode::pieces(StatusCode::OK, pieces, output, gzip));
    }
    let (head, item) = form(call, output.shape)?;
    if matches!(output.shape, Shape::Object) && call.found.version().conversion.is_some() {
        items = shown(&call.found, items).await?;
    }
    if output.encoding == Encoding::Cbor {
        let schema = call.found.version().schema.clone();
        let list = encode::cbor::List { head, meta, schema, item };
        return Ok(encode::ready(StatusCode::OK, Encoding::Cbor, list.pieces(items), gzip));
    }
    let pieces = encode::list::list(&head, &meta, items, item);
    Ok(encode::pieces(StatusCode::OK, pieces, output, gzip))
}

/// What a list that is no table begins with, and what its items are.
fn form(call: &Call<'_>, shape: Shape) -> Result<(ListHead, Item)> {
    let resource = &call.found.live.resource;
    Ok(match shape {
        // A table has a form of its own.
        Shape::Table(_) | Shape::Metadata(_) => {
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
            let item =
                if resource.items_carry_head { Item::WithHead(version.head.clone()) } else { Item::Bare };
            (
                ListHead { kind: format!("{}List", resource.kind), api_version: version.api_version.clone() },
                item,
            )
        }
    })
}

/// A list as compact JSON for the audit log, but not much more of it than fits there.
fn recorded(call: &Call<'_>, listing: Listing, shape: Shape) -> Option<Bytes> {
    let Listing { items, revision, continue_token, remaining, shard } = listing;
    let meta = ListMeta { revision, continue_token, remaining, shard };
    let mut out = BytesMut::new();
    let mut add = |pieces: &mut dyn Iterator<Item = Bytes>| {
        for piece in pieces {
            out.extend_from_slice(&piece);
            if out.len() > Record::MAX_OBJECT {
                break;
            }
        }
    };
    if let Shape::Table(version) = shape {
        add(&mut call.table(version).ok()?.pieces(&meta, items));
    } else {
        let (head, item) = form(call, shape).ok()?;
        let items = match shape {
            Shape::Object => items.iter().map(|it| call.found.show(it).ok()).collect::<Option<_>>()?,
            _ => items,
        };
        add(&mut encode::list::list(&head, &meta, items, item));
    }
    Some(out.freeze())
}

/// Objects as a version shows them whose shape is not the stored one, made off the threads that serve connections.
async fn shown(found: &Found, items: Vec<Arc<Frozen>>) -> Result<Vec<Arc<Frozen>>> {
    let found = found.clone();
    let convert = move || items.iter().map(|it| found.show(it)).collect::<keelson_registry::Result<_>>();
    let converted = tokio::task::spawn_blocking(convert).await;
    Ok(converted.unwrap_or_else(|_| Err(RegistryError::Bug("a list was not converted".to_owned())))?)
}
