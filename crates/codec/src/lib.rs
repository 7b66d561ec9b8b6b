//! Codecs: JSON, YAML, protobuf, CBOR, the stored form, media types.
//!
//! [`json::read`], [`yaml::read`] and [`cbor::read`] parse request bodies into trees; [`json::write`] writes
//! the same bytes as Go's `encoding/json`. [`stored`] is the form of objects in the store and their
//! conversion to [`keelson_object::Frozen`].

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
