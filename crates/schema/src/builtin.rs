//! The built-in kinds, from embedded tables.
//!
//! A table is read when something in it is first asked for: a server that never meets `batch` never reads it.

use std::sync::{Arc, OnceLock};

use smol_str::SmolStr;

use crate::generated::sources::SOURCES;
use crate::schema::Schema;
use crate::table::{self, Table};
use crate::types::{Struct, StructRef};

/// What a table says about a kind beyond its fields.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// Its name.
    pub name: SmolStr,
    /// Where its objects live; `None` for kinds that are no resource.
    pub scope: Option<Scope>,
    /// The kind of its lists.
    pub list: Option<SmolStr>,
    /// The only verbs there are; `None` is all.
    pub only_verbs: Option<Vec<SmolStr>>,
    /// Verbs that are not there.
    pub skip_verbs: Vec<SmolStr>,
    /// What can be done beyond the usual, mostly on subresources.
    pub methods: Vec<Method>,
    /// Since when and until when it is served.
    pub lifecycle: Lifecycle,
}

/// Where objects live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// Beside the namespaces.
    Cluster,
}

/// One thing that can be done with a kind beyond the usual.
#[derive(Clone, Debug)]
pub struct Method {
    /// `GetScale`.
    pub name: SmolStr,
    /// `get`.
    pub verb: SmolStr,
    /// `scale`.
    pub subresource: SmolStr,
    /// The type of what is sent, if it is not the kind itself: `autoscaling/v1.Scale`.
    pub input: Option<SmolStr>,
    /// The type of what comes back, if it is not the kind itself.
    pub result: Option<SmolStr>,
}

/// Releases, as `1.9`.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// The first that served the kind.
    pub introduced: Option<SmolStr>,
    /// The first that warned of it.
    pub deprecated: Option<SmolStr>,
    /// The first that no longer serves it.
    pub removed: Option<SmolStr>,
    /// `group,version,kind` of what to use instead.
    pub replacement: Option<SmolStr>,
}

/// An embedded table.
pub(crate) struct Source {
    pub(crate) path: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) text: &'static str,
}

impl Schema {
    /// The schema of a built-in kind.
    pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Schema> {
        let position = position_of(group, version)?;
        let table = table_at(position);
        if table.kinds.iter().any(|it| it.name == kind) {
            let target = table.structs.get(kind)?;
            return Some(Schema::new(StructRef::from(target.clone())));
        }
        shared(group, version, kind).then(|| Schema::new(StructRef::builtin("meta/v1", kind)))
    }
}

/// The kinds of a group version; empty if there is no such version.
pub fn kinds(group: &str, version: &str) -> &'static [Kind] {
    position_of(group, version).map(|at| &table_at(at).kinds[..]).unwrap_or_default()
}

/// The built-in group versions: `("apps", "v1")`.
pub fn versions() -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.iter().map(|source| (source.group, source.version))
}

/// The values of an enumeration in sorted order: `("", "v1", "Protocol")`; `None` if the type is not one.
pub fn enumeration(group: &str, version: &str, ty: &str) -> Option<&'static [SmolStr]> {
    table_at(position_of(group, version)?).enums.get(ty).map(|values| &values[..])
}

/// The struct `name` of the table at `path`.
pub(crate) fn find(path: &str, name: &str) -> Option<Arc<Struct>> {
    let position = SOURCES.binary_search_by(|source| source.path.cmp(path)).ok()?;
    table_at(position).structs.get(name).cloned()
}

/// Kinds of `meta/v1` that every group version knows, or the core one.
fn shared(group: &str, version: &str, kind: &str) -> bool {
    match kind {
        "CreateOptions" | "DeleteOptions" | "GetOptions" | "ListOptions" | "PatchOptions"
        | "UpdateOptions" | "WatchEvent" => true,
        "Status" | "APIVersions" | "APIGroup" | "APIGroupList" | "APIResourceList" => {
            group.is_empty() && version == "v1"
        }
        "Table" | "TableOptions" | "PartialObjectMetadata" => group == "meta.k8s.io",
        _ => false,
    }
}

fn position_of(group: &str, version: &str) -> Option<usize> {
    SOURCES.iter().position(|source| source.group == group && source.version == version)
}

fn table_at(position: usize) -> &'static Table {
    static TABLES: [OnceLock<Table>; SOURCES.len()] = [const { OnceLock::new() }; SOURCES.len()];
    TABLES[position].get_or_init(|| {
        let source = &SOURCES[position];
        table::read(source.path, source.text).expect("a test reads every embedded table")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{SOURCES, Scope, enumeration, kinds, table_at, versions};
    use crate::schema::Schema;
    use crate::types::{Member, Shape, Struct, Type};

    /// Follows every reference from `one`.
    fn walk(one: &Struct, seen: &mut HashSet<String>) {
        if !seen.insert(format!("{:p}", std::ptr::from_ref(one))) {
            return;
        }
        for member in one.members() {
            match member {
                Member::Field(field) => walk_type(&field.ty, seen),
                Member::Embedded(target, _) => walk(target.get(), seen),
            }
        }
        let names: HashSet<_> = one.fields().iter().map(|field| &field.name).collect();
        assert_eq!(names.len(), one.fields().len(), "{} has a field twice", one.name);
    }

    fn walk_type(ty: &Type, seen: &mut HashSet<String>) {
        match &ty.shape {
            Shape::Struct(target) | Shape::Union(_, target) => walk(target.get(), seen),
            Shape::List(item) => walk_type(item, seen),
            Shape::Map(types) => walk_type(&types.1, seen),
            _ => {}
        }
    }

    #[test]
    fn every_table_reads_and_every_reference_leads_somewhere() {
        let mut seen = HashSet::new();
        for position in 0..SOURCES.len() {
            let table = table_at(position);
            for one in table.structs.values() {
                walk(one, &mut seen);
            }
            for kind in &table.kinds {
                assert!(table.structs.contains_key(&kind.name), "{} has no struct", kind.name);
            }
        }
        assert!(SOURCES.is_sorted_by_key(|source| source.path));
        assert!(seen.len() > 900, "{} structs", seen.len());
    }

    #[test]
    fn kinds_know_their_scope() {
        let check = |group: &str, version: &str, kind: &str, scope: Option<Scope>| {
            let found =
                kinds(group, version).iter().find(|it| it.name == kind).expect("the kind is built in");
            assert_eq!(found.scope, scope, "{kind}");
        };
        check("", "v1", "Pod", Some(Scope::Namespaced));
        check("", "v1", "Node", Some(Scope::Cluster));
        check("", "v1", "PodExecOptions", None);
        check("apps", "v1", "Deployment", Some(Scope::Namespaced));
        check("apiextensions.k8s.io", "v1", "CustomResourceDefinition", Some(Scope::Cluster));
        check("apiregistration.k8s.io", "v1", "APIService", Some(Scope::Cluster));
        assert!(kinds("apps", "v7").is_empty());
        assert!(versions().any(|it| it == ("batch", "v1")));
    }

    #[test]
    fn options_belong_to_every_group_and_status_to_the_core() {
        let check = |group: &str, version: &str, kind: &str, is_there: bool| {
            assert_eq!(Schema::builtin(group, version, kind).is_some(), is_there, "{group}/{version} {kind}");
        };
        check("apps", "v1", "DeleteOptions", true);
        check("", "v1", "Status", true);
        check("apps", "v1", "Status", false);
        check("meta.k8s.io", "v1beta1", "Table", true);
        check("apps", "v1", "Pod", false);
        check("nowhere", "v1", "Pod", false);
    }

    #[test]
    fn enumerations_are_sorted() {
        assert_eq!(enumeration("", "v1", "Protocol"), Some(&["SCTP".into(), "TCP".into(), "UDP".into()][..]));
        assert_eq!(enumeration("", "v1", "Pod"), None);
    }
}
