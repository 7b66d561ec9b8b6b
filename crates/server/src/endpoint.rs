//! Endpoints besides the API: health, metrics, version, status and flags, the list of paths.

pub mod health;
pub mod index;
pub mod metrics;
pub mod openid;
pub mod version;
pub mod zpages;
