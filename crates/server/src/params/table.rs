//! Table options: the object in each row.

use keelson_object::scalar::quote;

use crate::error::{Error, Result};
use crate::query::Query;

/// The content of `rows[].object`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    /// The metadata.
    #[default]
    Metadata,
    /// The whole object.
    Object,
    /// Nothing.
    None,
}

/// Reads `includeObject`.
pub(crate) fn include_object(query: &Query<'_>) -> Result<IncludeObject> {
    match query.get("includeObject").unwrap_or_default() {
        "" | "Metadata" => Ok(IncludeObject::Metadata),
        "Object" => Ok(IncludeObject::Object),
        "None" => Ok(IncludeObject::None),
        other => Err(Error::BadRequest(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
             'Object', 'None', or empty",
            quote(other)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::{IncludeObject, include_object};
    use crate::query::Query;

    #[test]
    fn rows_carry_what_is_asked_for() {
        let read = |query: &str| include_object(&Query::parse(query));
        assert_eq!(read("").unwrap(), IncludeObject::Metadata);
        assert_eq!(read("includeObject=None").unwrap(), IncludeObject::None);
        assert_eq!(
            read("includeObject=Foo").unwrap_err().to_string(),
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', \
             'Object', 'None', or empty"
        );
    }
}
