//! The API as facts: tables of kinds and structs, gathered from the packages.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};

use super::packages::{Defined, Name, Package, Packages, Shape, Type, short};
use super::source::Member;

/// One group version.
pub struct Table {
    /// `apps/v1`: the last two parts of the package's path.
    pub path: String,
    pub group: String,
    pub version: String,
    pub kinds: Vec<KindFacts>,
    pub structs: Vec<Struct>,
    /// Values of the string types that say that they are enumerations, by type.
    pub enums: BTreeMap<String, Vec<String>>,
}

/// A kind, as `kind` line: everything that clients generated from it would know.
pub struct KindFacts {
    pub name: String,
    pub words: Vec<String>,
    pub methods: Vec<String>,
}

/// A struct and its members in the order of the source.
pub struct Struct {
    pub name: String,
    pub is_atomic: bool,
    pub fields: Vec<Field>,
}

/// One member.
pub struct Field {
    /// Its name in JSON; empty for an embedded struct whose fields are the outer one's.
    pub json: String,
    pub ty: Type,
    pub number: Option<u32>,
    /// Everything else, in the order in which it is written.
    pub flags: Vec<String>,
}

impl Field {
    /// The same as part of a union: one field may say which member is set, the others are the members.
    fn of_union(mut self, member: &Member) -> Field {
        let is_discriminator = member.markers.iter().any(|it| it == "unionDiscriminator");
        let flag = match &member.name {
            _ if is_discriminator => "discriminator".to_owned(),
            Some(name) => format!("member={name}"),
            None => return self,
        };
        // The default comes last, because it may hold blanks.
        let at = self.flags.iter().position(|it| it.starts_with("default=")).unwrap_or(self.flags.len());
        self.flags.insert(at, flag);
        self
    }
}

/// Packages of single group versions; the other source is every version in `k8s.io/api`.
const SINGLE: &[&str] = &[
    "k8s.io/apimachinery/pkg/apis/meta/v1",
    "k8s.io/apimachinery/pkg/apis/meta/v1beta1",
    "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
    "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
];

/// Kinds that carry no kind of their own: the frame of a watch.
const BARE_KINDS: &[(&str, &str)] = &[("meta/v1", "WatchEvent")];

/// Gathers every table, sorted by path.
pub fn tables(packages: &Packages) -> Result<Vec<Table>> {
    let mut paths = packages.modules().versions("k8s.io/api")?;
    paths.extend(SINGLE.iter().map(|path| (*path).to_owned()));
    let mut gathering = Gathering { packages, structs: BTreeMap::new(), enums: BTreeSet::new() };
    let mut kinds = BTreeMap::new();
    for path in &paths {
        let package = packages.get(path)?;
        kinds.insert(short(path), gathering.kinds(&package).with_context(|| format!("in package {path}"))?);
    }
    let mut tables = Vec::new();
    for path in &paths {
        let package = packages.get(path)?;
        tables.push(gathering.table(&package, kinds.remove(&short(path)).unwrap_or_default()));
    }
    tables.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(tables)
}

struct Gathering<'p> {
    packages: &'p Packages,
    /// What can be reached from a kind; `None` while it is being read.
    structs: BTreeMap<Name, Option<Struct>>,
    /// Enumerations that fields use.
    enums: BTreeSet<Name>,
}

impl Gathering<'_> {
    fn kinds(&mut self, package: &Package) -> Result<Vec<KindFacts>> {
        let mut kinds = Vec::new();
        for name in &package.order {
            let defined = &package.types[name];
            let Ok(Type { shape: Shape::Struct(own), .. }) = self.packages.named(package, name) else {
                continue;
            };
            let is_bare = BARE_KINDS.contains(&(own.package.as_str(), name));
            let is_own = own.name == *name && own.package == short(&package.path);
            if !is_own || !(is_bare || self.has_type_meta(package, name)?) {
                continue;
            }
            self.reach(&own)?;
            let list = Some(format!("{name}List")).filter(|list| package.types.contains_key(list));
            kinds.push(kind_facts(name, &defined.declaration.markers, list));
        }
        Ok(kinds)
    }

    fn has_type_meta(&self, package: &Package, name: &str) -> Result<bool> {
        let (_, _, members) = self.packages.members(package, name)?;
        Ok(members.iter().any(|it| {
            it.name.is_none()
                && it.tag("json").is_some_and(|tag| tag.ends_with(",inline"))
                && matches!(&it.expression, super::source::Expression::Named(_, name) if name == "TypeMeta")
        }))
    }

    /// Reads a struct and all that its fields lead to.
    fn reach(&mut self, name: &Name) -> Result<()> {
        if self.structs.contains_key(name) {
            return Ok(());
        }
        self.structs.insert(name.clone(), None);
        let package = self.packages.get(&long(&name.package))?;
        let own = package.types.get(&name.name).with_context(|| format!("no type {name:?}"))?;
        let is_marked = |marker: &str| own.declaration.markers.iter().any(|it| it == marker);
        let (is_atomic, is_union) = (is_marked("structType=atomic"), is_marked("union"));
        let (home, defined, members) = self.packages.members(&package, &name.name)?;
        let mut fields = Vec::new();
        for member in &members {
            let field = self.field(&home, &defined, member);
            let label = member.name.as_deref().unwrap_or("an embedded type");
            let field = field.with_context(|| format!("in {label} of {}.{}", name.package, name.name))?;
            fields.extend(field.map(|field| if is_union { field.of_union(member) } else { field }));
        }
        self.structs.insert(name.clone(), Some(Struct { name: name.name.clone(), is_atomic, fields }));
        Ok(())
    }

    fn field(&mut self, package: &Package, defined: &Defined, member: &Member) -> Result<Option<Field>> {
        let tag = member.tag("json");
        if tag == Some("-") {
            return Ok(None);
        }
        let mut parts = tag.context("no json tag")?.split(',');
        let json = parts.next().unwrap_or_default().to_owned();
        let options: Vec<&str> = parts.collect();
        ensure!(
            !json.is_empty() || (member.name.is_none() && options.contains(&"inline")),
            "no name in JSON"
        );
        let ty = self.packages.resolve(package, defined, &member.expression)?;
        self.follow(&ty)?;
        let mut flags: Vec<String> = ["omitempty", "omitzero"]
            .iter()
            .filter(|it| options.contains(it))
            .map(|it| (*it).to_owned())
            .collect();
        let is_marked = |marker: &str| member.markers.iter().any(|it| it == marker);
        let presence = match options.contains(&"omitempty") {
            false => Some("optional").filter(|it| is_marked(it)),
            true => Some("required").filter(|it| is_marked(it)),
        };
        flags.extend(presence.map(str::to_owned));
        if !json.is_empty() && !member.is_described {
            flags.push("undescribed".to_owned());
        }
        flags.extend(merge_flags(member));
        flags.extend(default_flag(package, member)?);
        Ok(Some(Field { json, ty, number: number(member)?, flags }))
    }

    fn follow(&mut self, ty: &Type) -> Result<()> {
        if let Some(name) = &ty.name {
            let package = self.packages.get(&long(&name.package))?;
            let markers = &package.types[&name.name].declaration.markers;
            if markers.iter().any(|it| it == "enum") {
                self.enums.insert(name.clone());
            }
        }
        match &ty.shape {
            Shape::Scalar(_) => Ok(()),
            Shape::List(item) => self.follow(item),
            Shape::Map(key, value) => {
                self.follow(key)?;
                self.follow(value)
            }
            Shape::Struct(name) => self.reach(name),
        }
    }

    fn table(&mut self, package: &Package, kinds: Vec<KindFacts>) -> Table {
        let path = short(&package.path);
        let version = path.rsplit('/').next().unwrap_or_default().to_owned();
        let own = |name: &String| Name { package: path.clone(), name: name.clone() };
        let structs =
            package.order.iter().filter_map(|name| self.structs.remove(&own(name)).flatten()).collect();
        let mut enums = BTreeMap::new();
        for name in package.order.iter().filter(|name| self.enums.contains(&own(name))) {
            let values = package.constants.iter().filter(|it| it.of.as_deref() == Some(name));
            let mut values: Vec<String> = values.filter_map(|it| it.text().map(str::to_owned)).collect();
            values.sort();
            values.dedup();
            enums.insert(name.clone(), values);
        }
        Table { group: group_name(package), version, path, kinds, structs, enums }
    }
}

/// The import path of a short one. Only packages that some table or field names come here.
fn long(short: &str) -> String {
    let single = SINGLE.iter().find(|path| super::packages::short(path) == short);
    match single {
        Some(path) => (*path).to_owned(),
        None if short.rsplit('/').next().is_some_and(|last| last.starts_with('v')) => {
            format!("k8s.io/api/{short}")
        }
        None => format!("k8s.io/apimachinery/pkg/{short}"),
    }
}

fn group_name(package: &Package) -> String {
    let marked = || package.markers.iter().find_map(|it| it.strip_prefix("groupName="));
    package.constant("GroupName").or_else(marked).unwrap_or_default().to_owned()
}

fn kind_facts(name: &str, markers: &[String], list: Option<String>) -> KindFacts {
    let client =
        |option: &str| markers.iter().find_map(|it| it.strip_prefix("genclient:")?.strip_prefix(option));
    let mut words = Vec::new();
    if markers.iter().any(|it| it == "genclient") {
        let is_global = client("nonNamespaced").is_some();
        words.push(if is_global { "cluster" } else { "namespaced" }.to_owned());
    }
    words.extend(list.map(|list| format!("list={list}")));
    for (option, word) in [("noVerbs", "noVerbs"), ("onlyVerbs=", "only="), ("skipVerbs=", "skip=")] {
        words.extend(client(option).map(|value| format!("{word}{value}")));
    }
    for fact in ["introduced", "deprecated", "removed", "replacement"] {
        let marker = format!("k8s:prerelease-lifecycle-gen:{fact}=");
        words.extend(markers.iter().find_map(|it| it.strip_prefix(&marker)).map(|it| format!("{fact}={it}")));
    }
    let methods = markers.iter().filter_map(|it| it.strip_prefix("genclient:method=")).map(method).collect();
    KindFacts { name: name.to_owned(), words, methods }
}

/// `GetScale get scale result=autoscaling/v1.Scale` of `GetScale,verb=get,subresource=scale,result=…`.
fn method(marker: &str) -> String {
    let mut words = Vec::new();
    for part in marker.split(',') {
        match part.split_once('=') {
            Some(("verb" | "subresource", value)) => words.push(value.to_owned()),
            Some((key, value)) => words.push(format!("{key}={}", value.replace("k8s.io/api/", ""))),
            None => words.push(part.to_owned()),
        }
    }
    words.join(" ")
}

fn number(member: &Member) -> Result<Option<u32>> {
    let Some(tag) = member.tag("protobuf") else {
        return Ok(None);
    };
    let number = tag.split(',').nth(1).context("a protobuf tag without a number")?;
    Ok(Some(number.parse().with_context(|| format!("the protobuf number {number}"))?))
}

/// How lists, maps and structs are merged.
fn merge_flags(member: &Member) -> Vec<String> {
    let marker = |key: &str| member.markers.iter().find_map(|it| it.strip_prefix(key)?.strip_prefix('='));
    let mut flags = Vec::new();
    if let Some(list) = marker("listType") {
        let keys: Vec<&str> = member.markers.iter().filter_map(|it| it.strip_prefix("listMapKey=")).collect();
        let keys = if keys.is_empty() { String::new() } else { format!("({})", keys.join(",")) };
        flags.push(format!("list={list}{keys}"));
    }
    flags.extend(marker("mapType").map(|it| format!("map={it}")));
    flags.extend(marker("structType").map(|it| format!("struct={it}")));
    if let Some(strategy) = member.tag("patchStrategy") {
        let key = member.tag("patchMergeKey").map(|key| format!("({key})")).unwrap_or_default();
        flags.push(format!("patch={strategy}{key}"));
    }
    flags
}

/// Comes last in its line, because it may hold blanks.
fn default_flag(package: &Package, member: &Member) -> Result<Option<String>> {
    let Some(value) = member.markers.iter().find_map(|it| it.strip_prefix("default=")) else {
        return Ok(None);
    };
    let constant = value.strip_prefix("ref(").and_then(|it| it.strip_suffix(')'));
    let value = match constant {
        Some(name) => {
            let text = package.constant(name).with_context(|| format!("no constant {name}"))?;
            format!("\"{text}\"")
        }
        None => value.to_owned(),
    };
    Ok(Some(format!("default={value}")))
}
