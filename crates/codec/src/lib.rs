//! Bytes to objects and back: JSON, YAML, protobuf, the stored form, media types.
//!
//! [`json::read`] and [`yaml::read`] make trees of request bodies; [`json::write`] writes what Go's `encoding/json`
//! would. [`stored`] is the form in which objects lie in the store and how they become [`keelson_object::Frozen`].

#![deny(missing_docs)]

pub mod json;
pub mod limits;
pub mod media_type;
pub mod protobuf;
pub mod stored;
pub mod yaml;
