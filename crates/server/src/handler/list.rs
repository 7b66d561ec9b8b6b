//! GET of a collection.

use bytes::{Bytes, BytesMut};
use keelson_audit::Record;
use keelson_registry::operation::{self, Listing};

use super::Call;
use crate::encode;
use crate::encode::compress::Gzip;
use crate::encode::list::{Item, Items, List, ListHead, ListMeta, Objects};
use crate::encode::pace::Paced;
use crate::encode::table::Rows;
use crate::error::{Error, Result};
use crate::negotiate::{Encoding, MetaVersion, Output, Shape};
use crate::params::list;
use crate::response::Response;

pub(crate) async fn list(call: &Call<'_>) -> Result<Response> {
    let output = call.output()?;
    let options = list::list(call.query, &call.info.name, call.facts.server.settings.shards)?;
    let listing = operation::list(&call.found.live, call.namespace(), &options).await?;
    answer(call, listing, output).await
}

/// Many objects as a response, in the negotiated shape.
pub(super) async fn answer(call: &Call<'_>, listing: Listing, output: Output) -> Result<Response> {
    let gzip = Gzip::of(&call.parts.headers);
    // Only the kind's own list has a field for it.
    let listing = match output.shape {
        Shape::Object => listing,
        Shape::Table(_) | Shape::Metadata(_) | Shape::MetadataList(_) => Listing { shard: None, ..listing },
    };
    if call.is_response_recorded() {
        let recorded = recorded(call, listing.clone(), output.shape).await;
        call.record_response(|| recorded);
    }
    if output.encoding == Encoding::Protobuf {
        return encode::protobuf::list(&call.found, listing, output.shape, gzip).await;
    }
    if let Shape::Table(version) = output.shape {
        let list = table(call, version, listing)?;
        return encode::many(list, None, output, gzip).await;
    }
    let schema = call.found.version().schema.clone();
    encode::many(objects(call, output.shape, listing)?, schema, output, gzip).await
}

fn table(call: &Call<'_>, version: MetaVersion, listing: Listing) -> Result<List<Rows>> {
    let Listing { items, revision, continue_token, remaining, shard } = listing;
    let meta = ListMeta { revision, continue_token, remaining, shard, ..ListMeta::default() };
    Ok(call.table(version)?.list(&meta, items))
}

/// A list that is not a table.
fn objects(call: &Call<'_>, shape: Shape, listing: Listing) -> Result<List<Objects>> {
    let Listing { items, revision, continue_token, remaining, shard } = listing;
    let shows_empty_token = matches!(shape, Shape::Object) && call.found.live.resource.is_custom();
    let meta = ListMeta { revision, continue_token, remaining, shard, shows_empty_token };
    let (head, item) = form(call, shape)?;
    let is_converted = matches!(shape, Shape::Object) && call.found.version().conversion.is_some();
    let shown_by = is_converted.then(|| call.found.clone());
    Ok(encode::list::list(&head, &meta, Objects { objects: items.into_iter(), item, shown_by }))
}

/// The head and the form of the items of a list that is not a table.
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

/// A list as compact JSON for the audit log, cut not far beyond what fits there.
async fn recorded(call: &Call<'_>, listing: Listing, shape: Shape) -> Option<Bytes> {
    if let Shape::Table(version) = shape {
        return beginning(table(call, version, listing).ok()?).await;
    }
    beginning(objects(call, shape, listing).ok()?).await
}

async fn beginning<I: Items>(list: List<I>) -> Option<Bytes> {
    let mut pieces = Paced::new(list.json(b"]}"));
    let mut out = BytesMut::new();
    while out.len() <= Record::MAX_OBJECT
        && let Some(piece) = pieces.next().await
    {
        out.extend_from_slice(&piece.ok()?);
    }
    Some(out.freeze())
}
