//! Protobuf responses: envelopes around messages that are made once per object.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use keelson_codec::json;
use keelson_codec::protobuf::{self, Head, List};
use keelson_object::{Frozen, Map, Value};
use keelson_registry::operation::Listing;
use keelson_registry::{Error as RegistryError, Found};
use keelson_schema::Schema;
use keelson_status::Status;
use keelson_stdx::offload;

use super::compress::{self, Gzip};
use super::frame::InitialEnd;
use super::list::Ahead;
use super::pace::{Paced, Pieces};
use super::{CHUNK, COMPRESS_FROM, media_type};
use crate::error::{Error, Result};
use crate::negotiate::{Encoding, MetaVersion, Shape};
use crate::response::{Body, Response, with_type};

/// A document that we wrote as JSON; `None` if its kind has no protobuf form.
pub(crate) fn of_json(compact: &[u8]) -> Option<Bytes> {
    let value = json::read(compact).ok()?.value;
    let text = |key: &str| value.as_map().and_then(|map| map.str(key));
    let kind = text("kind")?;
    if let Some(api_version) = text("apiVersion") {
        return protobuf::encode(&value, api_version, kind).ok();
    }
    // Discovery of the core group does not contain its version, in any encoding.
    let schema = Schema::builtin("", "v1", kind)?;
    let message = protobuf::write(&value, schema.root()).ok()?;
    Some(Head::new("", kind).wrap(&message))
}

/// One object in its envelope.
pub(crate) fn object(found: &Found, frozen: &Frozen, shape: Shape) -> Result<Bytes> {
    let message = found.live.message(found.version(), frozen)?;
    match shape {
        Shape::Metadata(version) => Ok(metadata_head(version).wrap(metadata(&message)?)),
        Shape::MetadataList(_) => Err(Error::NotAcceptable(format!(
            "you requested PartialObjectMetadataList, but the requested object is not a list ({})",
            found.live.resource.kind
        ))),
        Shape::Object | Shape::Table(_) => Ok(form_head(found)?.wrap(&message)),
    }
}

/// Many objects, written while they are sent.
pub(crate) async fn list(found: &Found, listing: Listing, shape: Shape, gzip: Gzip) -> Result<Response> {
    if let Shape::Metadata(_) = shape {
        return Err(Error::NotAcceptable(format!(
            "you requested PartialObjectMetadata, but the requested object is a list ({}List)",
            found.live.resource.kind
        )));
    }
    let (head, schema) = match shape {
        Shape::MetadataList(version) => {
            let kind = "PartialObjectMetadataList";
            let group_version = version.api_version().rsplit('/').next().unwrap_or_default();
            (Head::new(version.api_version(), kind), Schema::builtin("meta.k8s.io", group_version, kind))
        }
        _ => {
            let form = found.version().protobuf.as_ref();
            let form = form.ok_or_else(|| bug("a kind without a protobuf form"))?;
            (form.list_head.clone(), Some(form.list.clone()))
        }
    };
    let schema = schema.ok_or_else(|| bug("the tables have no list of this kind"))?;
    let metadata_value = list_meta(&listing);
    let mut messages = Messages::new(found.clone(), shape, listing.items);
    let sizes = messages.measure().await?;
    let list = List::new(&head, schema.root(), &metadata_value, sizes.into_iter())
        .map_err(|error| bug(&error.to_string()))?;
    let is_long = list.size() > COMPRESS_FROM;
    let mut pieces = ListPieces::new(list, messages);
    let response = with_type(StatusCode::OK, media_type(Encoding::Protobuf), Body::empty());
    if is_long {
        return Ok(compress::stream(response, Paced::new(pieces), gzip));
    }
    let chunks: VecDeque<Bytes> = std::iter::from_fn(|| pieces.next_piece()).collect::<Result<_>>()?;
    Ok(response.map(|_| Body::chunks(chunks)))
}

/// The number of bytes of messages that are kept between the two passes over a list.
const KEPT: usize = 4 * CHUNK;

/// The messages of a list's items.
///
/// A list begins with its size, so all messages must be made before its first byte is sent. They are not kept
/// until they are sent: memory must not grow with the list. Most are cached with their objects. Of the
/// others, the first [`KEPT`] bytes are kept, which is all of a short list; the others are made again when
/// they are sent.
struct Messages {
    found: Found,
    shape: Shape,
    items: std::vec::IntoIter<Arc<Frozen>>,
    first: VecDeque<Bytes>,
}

impl Messages {
    fn new(found: Found, shape: Shape, items: Vec<Arc<Frozen>>) -> Messages {
        Messages { found, shape, items: items.into_iter(), first: VecDeque::new() }
    }

    fn message(&self, item: &Frozen) -> Result<Bytes> {
        let message = self.found.live.message(self.found.version(), item)?;
        match self.shape {
            Shape::MetadataList(_) => Ok(message.slice_ref(metadata(&message)?)),
            _ => Ok(message),
        }
    }

    /// The number of bytes that must be read for the message of an object.
    fn cost(&self, item: &Frozen) -> usize {
        let version = self.found.version();
        let is_cached = version.stored && version.conversion.is_none() && item.has_protobuf();
        if is_cached { 0 } else { item.json().len() }
    }

    /// The sizes of all messages, which are made in steps.
    async fn measure(&mut self) -> Result<Vec<usize>> {
        let mut sizes = Vec::with_capacity(self.items.len());
        let mut kept = 0;
        while sizes.len() < self.items.len() {
            let left = &self.items.as_slice()[sizes.len()..];
            let (step, size) = step(left, |item| self.cost(item));
            let work = || left[..step].iter().map(|item| self.message(item)).collect();
            let made: Result<Vec<Bytes>> = offload::run(size, work).await;
            for message in made? {
                sizes.push(message.len());
                // After the first message that was not kept, none is kept.
                kept += message.len();
                if kept <= KEPT {
                    self.first.push_back(message);
                }
            }
            if sizes.len() < self.items.len() {
                tokio::task::yield_now().await;
            }
        }
        Ok(sizes)
    }

    /// The number of bytes that must be read for the next messages that fill a piece.
    fn work(&self) -> usize {
        if !self.first.is_empty() {
            return 0;
        }
        let ahead = |item: &Frozen| Ahead { parsed: self.cost(item), written: item.json().len() };
        Ahead::of(self.items.as_slice(), ahead).parsed
    }

    /// The next message, and the number of bytes that were read for it.
    fn next(&mut self) -> Option<Result<(Bytes, usize)>> {
        let item = self.items.next()?;
        if let Some(message) = self.first.pop_front() {
            return Some(Ok((message, 0)));
        }
        let cost = self.cost(&item);
        Some(self.message(&item).map(|message| (message, cost)))
    }
}

/// The number of items in the next step, and the number of bytes that must be read for them.
fn step(items: &[Arc<Frozen>], size: impl Fn(&Frozen) -> usize) -> (usize, usize) {
    const ITEMS: usize = 4096;
    let mut sum = 0;
    for (position, item) in items.iter().enumerate() {
        if sum >= 4 * CHUNK || position == ITEMS {
            return (position, sum);
        }
        sum += size(item);
    }
    (items.len(), sum)
}

/// A list that is written while it is sent.
struct ListPieces {
    list: List,
    messages: Messages,
    /// The piece that is being written; `None` after the last one.
    open: Option<BytesMut>,
    /// The number of bytes that are still to come, by the size at the beginning of the list.
    left: usize,
}

impl ListPieces {
    fn new(list: List, messages: Messages) -> ListPieces {
        let open = Some(BytesMut::from(&list.begin()[..]));
        ListPieces { left: list.size(), list, messages, open }
    }

    /// Finishes a piece. Its size is part of the size that was announced.
    fn done(&mut self, out: BytesMut) -> Result<Bytes> {
        let left = self.left.checked_sub(out.len());
        self.left = left.ok_or_else(|| bug("a list became longer while it was sent"))?;
        Ok(out.freeze())
    }
}

impl Pieces for ListPieces {
    fn next_piece(&mut self) -> Option<Result<Bytes>> {
        let mut out = self.open.take()?;
        let mut read = 0;
        while let Some(next) = self.messages.next() {
            let (message, cost) = match next {
                Ok(next) => next,
                Err(error) => return Some(Err(error)),
            };
            self.list.item(&message, &mut out);
            read += cost;
            if out.len() >= CHUNK || read >= CHUNK {
                self.open = Some(BytesMut::with_capacity(CHUNK + (8 << 10)));
                return Some(self.done(out));
            }
        }
        out.extend_from_slice(self.list.end());
        Some(self.done(out).and_then(|last| match self.left {
            0 => Ok(last),
            _ => Err(bug("a list became shorter while it was sent")),
        }))
    }

    fn work(&self) -> usize {
        self.messages.work()
    }
}

fn list_meta(listing: &Listing) -> Value {
    let mut map = Map::new();
    map.push_new("resourceVersion", listing.revision.to_string());
    if !listing.continue_token.is_empty() {
        map.push_new("continue", listing.continue_token.as_str());
    }
    if let Some(remaining) = listing.remaining {
        map.push_new("remainingItemCount", i64::try_from(remaining).unwrap_or(i64::MAX));
    }
    if let Some(shard) = &listing.shard {
        let mut described = Map::new();
        described.push_new("selector", shard.as_str());
        map.push_new("shardInfo", described);
    }
    Value::Map(map)
}

/// The form of watch frames.
pub(crate) struct Frames {
    head: Head,
    metadata_only: bool,
}

impl Frames {
    /// Frames of whole objects, or of their metadata.
    pub(crate) fn new(found: &Found, shape: Shape) -> Frames {
        match shape {
            Shape::Metadata(version) | Shape::MetadataList(version) => {
                Frames { head: metadata_head(version), metadata_only: true }
            }
            Shape::Object | Shape::Table(_) => {
                let version = found.version();
                Frames {
                    head: Head::new(&version.api_version, &found.live.resource.kind),
                    metadata_only: false,
                }
            }
        }
    }

    /// An event about an object. One that cannot be encoded ends as an ERROR frame.
    pub(crate) fn object(&self, found: &Found, event: &str, object: &Frozen) -> Bytes {
        let message = found.live.message(found.version(), object);
        let part = message.as_ref().map_err(ToString::to_string).and_then(|message| {
            let part = if self.metadata_only { protobuf::metadata_only(message) } else { Some(&message[..]) };
            part.ok_or_else(|| "an object without metadata".to_owned())
        });
        match part {
            Ok(part) => frame(event, &self.head, part),
            Err(problem) => error_frame(&Status::internal_error(&problem)),
        }
    }

    /// A bookmark: an object with nothing but its revision.
    pub(crate) fn bookmark(&self, revision: u64, is_initial_end: InitialEnd) -> Bytes {
        let mut metadata = Map::new();
        metadata.push_new("resourceVersion", revision.to_string());
        if is_initial_end == InitialEnd::Yes {
            metadata.map_mut("annotations").set("k8s.io/initial-events-end", "true");
        }
        let mut value = Map::new();
        value.push_new("metadata", metadata);
        // The first field of every kind is its metadata, so that a message of metadata alone is also one of
        // the kind.
        let schema = Schema::builtin("meta.k8s.io", "v1", "PartialObjectMetadata");
        let message = schema.and_then(|schema| protobuf::write(&Value::Map(value), schema.root()).ok());
        frame("BOOKMARK", &self.head, &message.unwrap_or_default())
    }
}

/// The last frame of a watch that cannot go on.
pub(crate) fn error_frame(status: &Status) -> Bytes {
    let schema = Schema::builtin("", "v1", "Status");
    let value = json::read(&status.to_json()).map(|document| document.value).unwrap_or_default();
    let message = schema.and_then(|schema| protobuf::write(&value, schema.root()).ok());
    frame("ERROR", &Head::new("v1", "Status"), &message.unwrap_or_default())
}

fn frame(event: &str, head: &Head, message: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(head.size(message.len()) + 32);
    protobuf::write_frame(event, head, message, &mut out);
    out.freeze()
}

fn form_head(found: &Found) -> Result<&Head> {
    found
        .version()
        .protobuf
        .as_ref()
        .map(|form| &form.head)
        .ok_or_else(|| bug("a kind without a protobuf form"))
}

fn metadata_head(version: MetaVersion) -> Head {
    Head::new(version.api_version(), "PartialObjectMetadata")
}

fn metadata(message: &[u8]) -> Result<&[u8]> {
    protobuf::metadata_only(message).ok_or_else(|| bug("an object without metadata"))
}

fn bug(problem: &str) -> Error {
    Error::Registry(RegistryError::Bug(problem.to_owned()))
}
