//! Tables: what `kubectl get` prints.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use keelson_codec::json;
use keelson_object::scalar::Time;
use keelson_object::{Cell, Frozen, Value};
use keelson_registry::column::human_age;
use keelson_registry::{Column, Found};
use tracing::warn;

use super::list::{Ahead, Items, List, ListHead, ListMeta};
use super::metadata::write_metadata;
use super::object::write_object;
use crate::error::Result;
use crate::negotiate::MetaVersion;
use crate::params::table::IncludeObject;

/// The parameters of a table.
#[derive(Clone)]
pub(crate) struct Table {
    /// The resource and its version.
    pub(crate) found: Found,
    /// The version of Table.
    pub(crate) version: MetaVersion,
    /// The content of `rows[].object`.
    pub(crate) include: IncludeObject,
    /// The current time, for ages.
    pub(crate) now: Time,
}

/// Whether the columns are described; in a watch only the first event describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Headings {
    /// They are.
    Shown,
    /// They are not.
    Left,
}

impl Table {
    /// The same table, with at least the metadata of objects.
    pub(crate) fn with_objects(&self) -> Table {
        let include = match self.include {
            IncludeObject::None => IncludeObject::Metadata,
            include => include,
        };
        Table { include, ..self.clone() }
    }

    /// A table of many objects.
    pub(crate) fn list(self, meta: &ListMeta, objects: Vec<Arc<Frozen>>) -> List<Rows> {
        let head = ListHead { kind: "Table".to_owned(), api_version: self.version.api_version().into() };
        let mut columns = BytesMut::with_capacity(2 << 10);
        self.write_columns(&mut columns, Headings::Shown);
        let mut members = head.members(meta);
        members.push(("columnDefinitions", columns.freeze()));
        List { members, name: "rows", items: Rows { table: self, objects: objects.into_iter() } }
    }

    /// A table of one object, as a text.
    pub(crate) fn of_one(&self, object: &Arc<Frozen>, headings: Headings) -> Bytes {
        let mut out = BytesMut::with_capacity(4 << 10);
        let meta = ListMeta { revision: object.revision(), ..ListMeta::default() };
        self.write_start(&mut out, &meta, headings);
        self.write_row(&mut out, object);
        out.extend_from_slice(b"]}");
        out.freeze()
    }

    fn write_start(&self, out: &mut BytesMut, meta: &ListMeta, headings: Headings) {
        let api_version = self.version.api_version();
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":\"");
        out.extend_from_slice(api_version.as_bytes());
        out.extend_from_slice(b"\",\"metadata\":");
        out.extend_from_slice(&meta.json());
        out.extend_from_slice(b",\"columnDefinitions\":");
        self.write_columns(out, headings);
        out.extend_from_slice(b",\"rows\":[");
    }

    fn write_columns(&self, out: &mut BytesMut, headings: Headings) {
        match headings {
            Headings::Shown => {
                out.put_u8(b'[');
                for (position, column) in
                    self.found.live.resource.columns_of(self.found.version()).iter().enumerate()
                {
                    if position > 0 {
                        out.put_u8(b',');
                    }
                    write_column(out, column);
                }
                out.put_u8(b']');
            }
            Headings::Left => out.extend_from_slice(b"null"),
        }
    }

    /// Whether a row can be written without reading the object.
    fn is_at_hand(&self, object: &Frozen) -> bool {
        let version = self.found.version();
        let shows_object = self.include == IncludeObject::Object && version.conversion.is_some();
        object.has_cells() && (version.stored || version.columns.is_none()) && !shows_object
    }

    fn write_row(&self, out: &mut BytesMut, object: &Arc<Frozen>) {
        out.extend_from_slice(b"{\"cells\":[");
        match self.found.live.cells(self.found.version(), object) {
            Ok(cells) => {
                for (position, cell) in cells.iter().enumerate() {
                    if position > 0 {
                        out.put_u8(b',');
                    }
                    self.write_cell(out, cell);
                }
            }
            // A row without cells is still useful: its object contains the name.
            Err(error) => warn!(%error, name = %object.index().name, "cannot make the cells of an object"),
        }
        out.extend_from_slice(b"],\"object\":");
        match self.include {
            IncludeObject::Metadata => write_metadata(out, self.version, object),
            IncludeObject::Object => match self.found.show(object) {
                Ok(shown) => write_object(out, &self.found.version().head, &shown),
                Err(error) => {
                    warn!(%error, name = %object.index().name, "cannot convert an object");
                    out.extend_from_slice(b"null");
                }
            },
            IncludeObject::None => out.extend_from_slice(b"null"),
        }
        out.put_u8(b'}');
    }

    fn write_cell(&self, out: &mut BytesMut, cell: &Cell) {
        match cell {
            Cell::Null => out.extend_from_slice(b"null"),
            Cell::Text(text) => json::write_text(text, out),
            Cell::Int(number) => out.extend_from_slice(itoa::Buffer::new().format(*number).as_bytes()),
            Cell::Float(number) => out.extend_from_slice(&json::to_bytes(&Value::Float(*number))),
            Cell::Bool(truth) => out.extend_from_slice(if *truth { b"true" } else { b"false" }),
            Cell::Age(then) => json::write_text(&human_age(*then, self.now), out),
            Cell::Since(text, then) => {
                let age = human_age(Some(*then), self.now);
                json::write_text(&format!("{text} ({age} ago)"), out);
            }
        }
    }
}

/// The rows of a table of many objects.
pub(crate) struct Rows {
    table: Table,
    objects: std::vec::IntoIter<Arc<Frozen>>,
}

impl Items for Rows {
    fn left(&self) -> usize {
        self.objects.len()
    }

    fn ahead(&self) -> Ahead {
        Ahead::of(self.objects.as_slice(), |object| Ahead {
            parsed: if self.table.is_at_hand(object) { 0 } else { object.json().len() },
            written: match self.table.include {
                IncludeObject::None => 256,
                IncludeObject::Metadata => 256 + object.metadata_json().len(),
                IncludeObject::Object => 256 + object.json().len(),
            },
        })
    }

    fn write_next(&mut self, out: &mut BytesMut) -> Result<Option<usize>> {
        let Some(object) = self.objects.next() else { return Ok(None) };
        let parsed = if self.table.is_at_hand(&object) { 0 } else { object.json().len() };
        self.table.write_row(out, &object);
        Ok(Some(parsed))
    }
}

fn write_column(out: &mut BytesMut, column: &Column) {
    let fields = [
        ("{\"name\":", &*column.name),
        (",\"type\":", &*column.kind),
        (",\"format\":", &*column.format),
        (",\"description\":", &*column.description),
    ];
    for (name, text) in fields {
        out.extend_from_slice(name.as_bytes());
        json::write_text(text, out);
    }
    out.extend_from_slice(b",\"priority\":");
    out.extend_from_slice(itoa::Buffer::new().format(column.priority).as_bytes());
    out.put_u8(b'}');
}
