//! Structural schema of a version: decodes, prunes and defaults custom resources.
//!
//! | step | refuses wrong metadata | prunes | drops nulls | sets defaults |
//! |---|---|---|---|---|
//! | a request is decoded | yes | yes | yes | yes |
//! | an object is read from the store | no, drops it | yes | yes | yes |
//! | an object is converted into this version | – | yes | yes | no |
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go, schemaCoercingDecoder,
//! unstructuredDefaulter and schemaCoercingConverter (v1.36.4).

use std::sync::Arc;

use keelson_object::Value;
use keelson_structural::coerce::{Malformed, Root, coerce, root_metadata};
use keelson_structural::default::{default, drop_nulls};
use keelson_structural::prune::{Report, prune};
use keelson_structural::schema::Schema;

/// The structural schema of one version of a custom resource.
#[derive(Clone, Debug, Default)]
pub struct StructuralTypes {
    /// The schema. Without one, everything but `apiVersion`, `kind` and `metadata` is pruned.
    pub schema: Option<Arc<Schema>>,
    /// Whether fields that the schema does not specify are kept everywhere: `spec.preserveUnknownFields` of definitions
    /// that were written as v1beta1.
    pub preserves_unknown: bool,
}

impl StructuralTypes {
    /// Reads the body of a request: returns the complaints of a strict reader, or why the body is refused.
    pub fn decode(&self, value: &mut Value, report: Report) -> Result<Vec<String>, String> {
        let mut unknown = self.coerce(value, Malformed::Refuse, report)?;
        self.set_defaults(value);
        if report == Report::Nothing {
            unknown.clear();
        }
        Ok(unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect())
    }

    /// Prunes and defaults an object that was read from the store.
    pub fn read_stored(&self, value: &mut Value) -> Result<(), String> {
        self.coerce(value, Malformed::Drop, Report::Nothing)?;
        self.set_defaults(value);
        Ok(())
    }

    /// Prunes an object that was converted to this version.
    pub fn accept_converted(&self, value: &mut Value) -> Result<(), String> {
        self.coerce(value, Malformed::Refuse, Report::Nothing).map(drop)
    }

    /// Upstream: customresource_handler.go, unstructuredSchemaCoercer.apply (v1.36.4).
    fn coerce(&self, value: &mut Value, malformed: Malformed, report: Report) -> Result<Vec<String>, String> {
        let Some(map) = value.as_map_mut() else { return Ok(Vec::new()) };
        let mut unknown = root_metadata(map, malformed)?;
        let schema = self.schema.as_deref();
        if !self.preserves_unknown {
            unknown.extend(prune(value, schema, report));
            if let Some(schema) = schema {
                drop_nulls(value, schema);
            }
        }
        unknown.extend(coerce(value, schema, Root::Value, malformed).map_err(|error| error.to_string())?);
        Ok(unknown)
    }

    /// Sets the defaults of this version.
    pub fn set_defaults(&self, value: &mut Value) {
        if let Some(schema) = &self.schema {
            default(value, schema);
        }
    }
}
