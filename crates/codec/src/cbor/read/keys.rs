//! Keys of maps and structs: which are accepted, and which are refused.

use keelson_object::Value;
use keelson_object::scalar::quote;

use super::frame::{Body, Found, Frame};
use super::{Expect, Reader, Step};
use crate::cbor::error::{Error, Kind};
use crate::text::text;

/// A key in a struct.
enum Key {
    /// Text.
    Name(String),
    /// Something else, as messages print it.
    Other(String),
    /// An item that cannot be a key.
    Unfit,
}

impl<'t> Reader<'_, 't> {
    /// Reads a key; returns the expected type of its value, or `None` if the value was skipped.
    pub(super) fn map_key(&mut self, frame: &mut Frame<'t>) -> Result<Option<Expect<'t>>, Error> {
        let later = frame.later;
        let Body::Map(keyed) = &mut frame.body else { return Ok(None) };
        let step = self.item(Expect::Type(keyed.key_type), later)?;
        let expect = keyed.value;
        match step {
            Step::Done(Value::String(key), Found { lax: None, .. }) => keyed.key = key,
            // Null leaves the variable as it was.
            Step::Done(_, Found { lax: None, .. }) | Step::Opened => {}
            Step::Done(_, found) => {
                self.skip()?;
                frame.note(found);
                return Ok(None);
            }
        }
        Ok(Some(expect))
    }

    /// Reads the name of a field; returns the expected type of its value, or `None` if the value was skipped.
    pub(super) fn field_key(&mut self, frame: &mut Frame<'t>) -> Result<Option<Expect<'t>>, Error> {
        let key = self.key_of_struct(frame)?;
        let Body::Struct(fields) = &mut frame.body else { return Ok(None) };
        let of = fields.of;
        let shown = match key {
            Key::Name(name) => match of.position(&name) {
                Some(position) if fields.seen.contains(&position) => {
                    frame.duplicate(quote(&name));
                    self.skip()?;
                    return Ok(None);
                }
                Some(position) => {
                    fields.seen.push(position);
                    return Ok(Some(Expect::Type(&of.fields()[position].ty)));
                }
                None => quote(&name),
            },
            Key::Other(shown) => shown,
            Key::Unfit => {
                self.skip()?;
                return Ok(None);
            }
        };
        let is_new = fields.unknown.insert(shown.clone());
        frame.unknown();
        if !is_new {
            frame.duplicate(shown);
        }
        self.skip()?;
        Ok(None)
    }

    fn key_of_struct(&mut self, frame: &mut Frame<'t>) -> Result<Key, Error> {
        let kind = Kind::of(self.peek()?);
        match kind {
            Kind::Text => {
                let head = self.head()?;
                Ok(match self.text(head)? {
                    Ok(name) => Key::Name(name.into_owned()),
                    Err(error) => {
                        frame.note(Found::both(error));
                        Key::Unfit
                    }
                })
            }
            Kind::Bytes => {
                let head = self.head()?;
                Ok(Key::Name(String::from(text(&self.bytes(head)?))))
            }
            Kind::Positive => Ok(Key::Other((self.head()?.argument as i64).to_string())),
            Kind::Negative => {
                let head = self.head()?;
                match i64::try_from(head.argument) {
                    Ok(_) => Ok(Key::Other(kind.number(head).to_string())),
                    Err(_) => {
                        let why = format!("-1-{} overflows Go's int64", head.argument);
                        frame.note(Found::both(Error::mismatch(kind, "int64", why)));
                        Ok(Key::Unfit)
                    }
                }
            }
            _ => {
                let why = format!("map key is of type {kind} and cannot be used to match struct field name");
                frame.note(Found::both(Error::mismatch(kind, "string", why)));
                self.odd_key(frame)
            }
        }
    }

    /// A key that is neither text nor an integer. Upstream reads it to find duplicates.
    fn odd_key(&mut self, frame: &Frame<'t>) -> Result<Key, Error> {
        let start = self.at;
        match self.item(Expect::Any, frame.later)? {
            Step::Opened => {
                self.frames.pop();
                self.at = start;
                self.skip()?;
                Ok(Key::Unfit)
            }
            Step::Done(_, Found { lax: Some(_), .. }) => Ok(Key::Unfit),
            Step::Done(value, _) => Ok(Key::Other(match value {
                Value::Null => "<nil>".to_owned(),
                Value::Bool(truth) => truth.to_string(),
                Value::Int(number) => number.to_string(),
                Value::Float(number) => number.to_string(),
                Value::String(text) => quote(&text),
                Value::List(_) | Value::Map(_) => return Ok(Key::Unfit),
            })),
        }
    }
}
