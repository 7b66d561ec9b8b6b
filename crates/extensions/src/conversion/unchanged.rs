//! Conversion strategy `None`: only `apiVersion` changes. The engine prunes by the schema of the target version.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/conversion/nop_converter.go (v1.36.4).

use std::future::ready;

use futures_util::future::BoxFuture;
use keelson_object::Object;
use keelson_registry::{Convert, Result};

/// All versions have the same fields.
pub struct Unchanged;

impl Convert for Unchanged {
    fn convert<'c>(
        &'c self,
        mut objects: Vec<Object>,
        api_version: &'c str,
    ) -> BoxFuture<'c, Result<Vec<Object>>> {
        for object in &mut objects {
            object.api_version = api_version.into();
        }
        Box::pin(ready(Ok(objects)))
    }

    fn keeps_fields(&self) -> bool {
        true
    }
}
