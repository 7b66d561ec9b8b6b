//! Components: the kinds that a document names, and everything these refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

use keelson_object::{Map, Value};
use smol_str::SmolStr;

use super::descriptions::Descriptions;
use super::fixed::Fixed;
use super::property::{self, Owner, Style, Target};
use super::{Enums, Form, Home, group_version_kind, list_text, name, tables};
use crate::builtin;
use crate::schema::Schema;
use crate::types::{Shape, Struct};

/// The schemas of one document.
pub struct Components<'h> {
    style: Style,
    home: Option<Home<'h>>,
    found: BTreeMap<String, Part<'h>>,
    descriptions: Arc<Descriptions>,
}

/// What a name stands for.
enum Part<'h> {
    Fixed(Fixed),
    Table {
        path: SmolStr,
        name: SmolStr,
    },
    /// A kind that is in no table; without a schema it may contain anything.
    Custom {
        kind: [SmolStr; 3],
        schema: Option<Schema>,
    },
    /// The list of such a kind.
    CustomList {
        kind: [SmolStr; 3],
        item: String,
    },
    /// A schema that is made elsewhere, when it is written.
    Given(Box<dyn Fn() -> Map + 'h>),
}

impl<'h> Components<'h> {
    /// No schemas yet. `home` is the group version of the document, if it is about one.
    pub fn new(form: Form, enums: Enums, home: Option<Home<'h>>) -> Components<'h> {
        let descriptions = Descriptions::unpack();
        Components { style: Style { form, enums }, home, found: BTreeMap::new(), descriptions }
    }

    /// Which OpenAPI this is.
    pub fn form(&self) -> Form {
        self.style.form
    }

    /// Adds a built-in kind and gives its name; `None` if it is not built in.
    pub fn builtin(&mut self, group: &str, version: &str, kind: &str) -> Option<String> {
        let path = tables::path_of(group, version)?;
        if !builtin::kinds(group, version).iter().any(|it| it.name == kind) {
            return None;
        }
        Some(self.table(path, kind))
    }

    /// Adds a type of the meta group that clients send or get: `Status`, `DeleteOptions`, `Patch`.
    pub fn meta(&mut self, name: &str) -> String {
        if name == "Patch" {
            return self.fixed(Fixed::Patch);
        }
        self.table("meta/v1", name)
    }

    /// Adds what `/version` answers with.
    pub fn version(&mut self) -> String {
        self.fixed(Fixed::Version)
    }

    /// Adds a served kind, built in or not.
    pub fn kind(&mut self, group: &str, version: &str, kind: &str, schema: Option<&Schema>) -> String {
        if let Some(name) = self.builtin(group, version, kind) {
            return name;
        }
        let name = name::custom_name(group, version, kind);
        if !self.found.contains_key(&name) {
            let kind = [group.into(), version.into(), kind.into()];
            self.found.insert(name.clone(), Part::Custom { kind, schema: schema.cloned() });
            match schema {
                Some(schema) => self.walk(schema.root()),
                None => {
                    self.meta("ObjectMeta");
                }
            }
        }
        name
    }

    /// Adds the list of a served kind, built in or not.
    pub fn list(&mut self, group: &str, version: &str, kind: &str, schema: Option<&Schema>) -> String {
        let known = builtin::kinds(group, version).iter().find(|it| it.name == kind);
        let list =
            known.and_then(|it| it.list.clone()).unwrap_or_else(|| smol_str::format_smolstr!("{kind}List"));
        if let Some(name) = self.builtin(group, version, &list) {
            return name;
        }
        let item = self.kind(group, version, kind, schema);
        self.meta("ListMeta");
        let name = name::custom_name(group, version, &list);
        let kind = [group.into(), version.into(), list];
        self.found.entry(name.clone()).or_insert(Part::CustomList { kind, item });
        name
    }

    /// Adds a schema that `make` makes when it is written. One that is there already stays.
    pub fn given(&mut self, name: String, make: impl Fn() -> Map + 'h) {
        self.found.entry(name).or_insert_with(|| Part::Given(Box::new(make)));
    }

    /// Whether there are no schemas.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Every schema with its name, by name; each is made when it is asked for.
    pub fn schemas(&self) -> impl Iterator<Item = (&str, Map)> {
        self.found.iter().map(|(name, part)| (name.as_str(), self.schema(name, part)))
    }

    fn fixed(&mut self, fixed: Fixed) -> String {
        self.found.entry(fixed.name().to_owned()).or_insert(Part::Fixed(fixed));
        fixed.name().to_owned()
    }

    fn table(&mut self, path: &str, name: &str) -> String {
        let published = name::of_struct(path, name);
        if !self.found.contains_key(&published) {
            self.found.insert(published.clone(), Part::Table { path: path.into(), name: name.into() });
            if let Some(one) = builtin::find(path, name) {
                self.walk(&one);
            }
        }
        published
    }

    /// Adds what the fields of a struct refer to.
    fn walk(&mut self, one: &Struct) {
        for field in one.fields() {
            self.walk_shape(&field.ty.shape);
        }
    }

    fn walk_shape(&mut self, shape: &Shape) {
        match property::target(shape) {
            Some(Target::Fixed(fixed)) => {
                self.fixed(fixed);
                if let Shape::Union(_, target) = shape
                    && let Some((path, name)) = target.origin()
                {
                    self.table(path, name);
                }
            }
            Some(Target::Table(path, name)) => {
                self.table(path, name);
            }
            None => match shape {
                Shape::List(item) => self.walk_shape(&item.shape),
                Shape::Map(types) => self.walk_shape(&types.1.shape),
                Shape::Struct(inner) => self.walk(inner.get()),
                _ => {}
            },
        }
    }

    fn schema(&self, published: &str, part: &Part<'_>) -> Map {
        let said = self.descriptions.of(published);
        let (mut map, kinds) = match part {
            Part::Fixed(fixed) => (fixed.schema(self.form(), said), Vec::new()),
            Part::Table { path, name } => {
                let said = said.or_else(|| self.descriptions.of_any_kind());
                let owner = Owner { table: path, said };
                let one = builtin::find(path, name);
                let mut map = one.map(|it| self.style.structure(owner, &it)).unwrap_or_default();
                if let Some(kind) = kind_of_list(path, name) {
                    list_text::describe(&mut map, kind, self.form());
                }
                (map, self.kinds_of(path, name))
            }
            Part::Given(make) => (make(), Vec::new()),
            Part::Custom { kind: [group, version, kind], schema } => {
                let map = match schema {
                    Some(schema) => self.style.structure(Owner::default(), schema.root()),
                    None => self.anything(),
                };
                (map, vec![group_version_kind(group, version, kind)])
            }
            Part::CustomList { kind: [group, version, list], item } => {
                let mut map = self.custom_list(item);
                let kind = item.rsplit('.').next().unwrap_or_default();
                list_text::describe(&mut map, kind, self.form());
                (map, vec![group_version_kind(group, version, list)])
            }
        };
        if !kinds.is_empty() {
            map.push_new("x-kubernetes-group-version-kind", kinds);
        }
        map
    }

    /// The group version kinds under which a struct is known.
    fn kinds_of(&self, path: &str, name: &str) -> Vec<Value> {
        if path == "meta/v1" {
            return self.shared_kinds(name);
        }
        let (group, version) = tables::group_version(path).unwrap_or_default();
        let known = builtin::kinds(group, version).iter().any(|it| it.name == name);
        if known { vec![group_version_kind(group, version, name)] } else { Vec::new() }
    }

    /// Types that belong to every group, or to the core group although the meta group describes them.
    fn shared_kinds(&self, name: &str) -> Vec<Value> {
        let core = ("", "v1");
        let versions = match name {
            "DeleteOptions" | "WatchEvent" => match (self.form(), self.home) {
                (Form::V2, _) => tables::known_versions(),
                (Form::V3, Some(home)) if (home.group, home.version) != core => {
                    vec![core, (home.group, home.version)]
                }
                (Form::V3, _) => vec![core],
            },
            "Status" | "APIVersions" | "APIGroup" | "APIGroupList" | "APIResourceList" => vec![core],
            _ => Vec::new(),
        };
        versions.into_iter().map(|(group, version)| group_version_kind(group, version, name)).collect()
    }

    /// An object of which nothing is known but that it is one.
    fn anything(&self) -> Map {
        let mut map = Map::new();
        map.push_new("properties", self.object("ObjectMeta"));
        map.push_new("type", "object");
        map.push_new("x-kubernetes-preserve-unknown-fields", true);
        map
    }

    fn custom_list(&self, item: &str) -> Map {
        let mut items = Map::new();
        items.push_new("items", self.form().reference(item));
        items.push_new("type", "array");
        let mut properties = self.object("ListMeta");
        properties.push_new("items", items);
        properties.sort_keys();
        let mut map = Map::new();
        map.push_new("properties", properties);
        map.push_new("required", vec![Value::from("items")]);
        map.push_new("type", "object");
        map
    }

    /// The properties that every object has.
    fn object(&self, metadata: &str) -> Map {
        let said = self.descriptions.of_any_kind();
        let text = |field: &str| {
            let mut text = Map::from_iter([("type".into(), Value::from("string"))]);
            if let Some(sentence) = said.and_then(|it| it.field(field)) {
                text.push_new("description", sentence);
            }
            text
        };
        let mut map = Map::new();
        map.push_new("apiVersion", text("apiVersion"));
        map.push_new("kind", text("kind"));
        map.push_new("metadata", self.form().reference(&name::of_struct("meta/v1", metadata)));
        map
    }
}

/// The kind of the objects in the list `name` of a table; `None` if it is no list.
fn kind_of_list(path: &str, name: &str) -> Option<&'static str> {
    let (group, version) = tables::group_version(path)?;
    let known = builtin::kinds(group, version).iter().find(|it| it.list.as_deref() == Some(name))?;
    Some(&known.name)
}

#[cfg(test)]
mod tests {
    use super::Components;
    use crate::openapi::{Enums, Form, Home};

    #[test]
    fn a_kind_brings_everything_it_refers_to() {
        let home = Home { group: "apps", version: "v1" };
        let mut components = Components::new(Form::V3, Enums::Hidden, Some(home));
        let name = components.kind("apps", "v1", "Deployment", None);
        assert_eq!(name, "io.k8s.api.apps.v1.Deployment");
        let names: Vec<&str> = components.schemas().map(|it| it.0).collect();
        assert!(names.contains(&"io.k8s.api.core.v1.PodSpec"));
        assert!(names.contains(&"io.k8s.apimachinery.pkg.api.resource.Quantity"));
        assert!(!names.contains(&"io.k8s.api.apps.v1.ReplicaSet"));
        assert!(names.is_sorted());
    }

    #[test]
    fn a_schema_that_is_given_does_not_replace_another() {
        let mut components = Components::new(Form::V3, Enums::Hidden, None);
        let builtin = components.kind("apps", "v1", "Deployment", None);
        let given = || [("type".into(), "string".into())].into_iter().collect();
        components.given(builtin.clone(), given);
        components.given("com.example.v1.Thing".to_owned(), given);
        let type_of = |name: &str| {
            let (_, schema) = components.schemas().find(|it| it.0 == name).expect("it was added");
            schema.str("type").map(str::to_owned)
        };
        assert_eq!(type_of(&builtin).as_deref(), Some("object"));
        assert_eq!(type_of("com.example.v1.Thing").as_deref(), Some("string"));
    }

    #[test]
    fn delete_options_belong_to_the_core_group_and_to_the_document() {
        let check = |group: &str, expected: usize| {
            let home = Home { group, version: "v1" };
            let mut components = Components::new(Form::V3, Enums::Hidden, Some(home));
            let name = components.meta("DeleteOptions");
            let (_, schema) = components.schemas().find(|it| it.0 == name).expect("it was added");
            assert_eq!(schema.list("x-kubernetes-group-version-kind").len(), expected, "{group}");
        };
        check("", 1);
        check("apps", 2);
    }

    #[test]
    fn lists_are_described() {
        let check = |group: &str, version: &str, kind: &str| {
            let mut components = Components::new(Form::V3, Enums::Hidden, None);
            let name = components.list(group, version, kind, None);
            let (_, list) = components.schemas().find(|it| it.0 == name).expect("it was added");
            let said = |map: Option<&keelson_object::Map>| {
                map.and_then(|it| it.str("description")).map(str::to_owned)
            };
            let expected = format!("A list of {kind} objects, complete or one part of it.");
            assert_eq!(said(Some(&list)), Some(expected));
            let items = list.map("properties").and_then(|it| it.map("items"));
            assert_eq!(said(items), Some(format!("The {kind} objects.")));
        };
        check("", "v1", "Pod");
        check("apps", "v1", "Deployment");
        check("stable.example.com", "v1", "CronTab");
    }

    #[test]
    fn a_kind_without_a_schema_may_contain_anything() {
        let mut components = Components::new(Form::V3, Enums::Hidden, None);
        let name = components.list("stable.example.com", "v1", "CronTab", None);
        assert_eq!(name, "com.example.stable.v1.CronTabList");
        let found: Vec<&str> =
            components.schemas().map(|it| it.0).filter(|it| it.starts_with("com.")).collect();
        assert_eq!(found, ["com.example.stable.v1.CronTab", "com.example.stable.v1.CronTabList"]);
    }
}
