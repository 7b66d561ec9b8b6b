//! Bytes to objects and back: JSON, YAML, protobuf, CBOR, the stored form, media types.
//!
//! [`json::read`], [`yaml::read`] and [`cbor::read`] make trees of request bodies; [`json::write`] writes what Go's `encoding/json`
//! would. [`stored`] is the form in which objects lie in the store and how they become [`keelson_object::Frozen`].

#![deny(missing_docs)]

pub mod cbor;
pub mod config_file;
pub mod json;
pub mod limits;
pub mod media_type;
pub mod protobuf;
pub mod stored;
mod text;
pub mod yaml;
