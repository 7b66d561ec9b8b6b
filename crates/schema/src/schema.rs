//! The schema of a kind: its root struct, and the way through it.

use crate::types::{Field, Shape, Struct, StructRef};

/// The description of one kind. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Schema {
    root: StructRef,
}

impl Schema {
    /// The schema of a kind whose objects are `root`: `kind`, `apiVersion` and `metadata` are fields of it.
    pub fn new(root: impl Into<StructRef>) -> Schema {
        Schema { root: root.into() }
    }

    /// The struct that a whole object is.
    pub fn root(&self) -> &Struct {
        self.root.get()
    }

    /// The field at a dotted path; lists and maps are passed through: `spec.template.spec.containers.name`.
    pub fn field_at(&self, path: &str) -> Option<&Field> {
        let mut within = self.root();
        let mut parts = path.split('.').peekable();
        loop {
            let field = within.field(parts.next()?)?;
            if parts.peek().is_none() {
                return Some(field);
            }
            within = innermost(&field.ty.shape)?;
        }
    }
}

/// The struct behind lists and maps.
fn innermost(shape: &Shape) -> Option<&Struct> {
    match shape {
        Shape::Struct(target) => Some(target.get()),
        Shape::List(item) => innermost(&item.shape),
        Shape::Map(types) => innermost(&types.1.shape),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;

    #[test]
    fn a_dotted_path_finds_a_field() {
        let schema = Schema::builtin("apps", "v1", "Deployment").expect("built in");
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(schema.field_at(path).map(|field| field.ty.go_name()).as_deref(), expected, "{path}");
        };
        check("spec.replicas", Some("int32"));
        check("spec.template.spec.containers", Some("[]v1.Container"));
        check("spec.template.spec.containers.ports.protocol", Some("v1.Protocol"));
        check("spec.template.spec.volumes.emptyDir", Some("v1.EmptyDirVolumeSource"));
        check("metadata.labels", Some("map[string]string"));
        check("metadata.labels.app", None);
        check("spec.replica", None);
        check("", None);
    }
}
