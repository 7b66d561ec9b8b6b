//! Go packages, read when they are asked for, and the meaning of the type expressions in them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use anyhow::{Context, Result, bail, ensure};

use super::modules::Modules;
use super::source::{self, Constant, Declaration, Expression, Meaning, Member};

/// All packages that were asked for so far.
pub struct Packages {
    modules: Modules,
    read: RefCell<HashMap<String, Rc<Package>>>,
}

/// One package.
pub struct Package {
    pub path: String,
    pub types: BTreeMap<String, Rc<Defined>>,
    /// Names of types in the order of the source.
    pub order: Vec<String>,
    pub constants: Vec<Constant>,
    pub markers: Vec<String>,
}

/// A declaration and the imports that it is to be read with.
pub struct Defined {
    pub declaration: Declaration,
    imports: Rc<BTreeMap<String, String>>,
}

/// What a type expression means.
#[derive(Clone, Debug)]
pub struct Type {
    pub is_pointer: bool,
    pub shape: Shape,
    /// The name of a type that is not a struct: `core/v1.Protocol`.
    pub name: Option<Name>,
    /// A named list that protobuf wraps into a message of its own.
    pub is_message: bool,
}

#[derive(Clone, Debug)]
pub enum Shape {
    Scalar(&'static str),
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
    Struct(Name),
}

/// A type of a package: `core/v1` and `Pod`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub package: String,
    pub name: String,
}

/// Types with an encoding of their own, by package and name.
const SPECIAL: &[(&str, &str, &str)] = &[
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "Time", "Time"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "MicroTime", "MicroTime"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "Duration", "Duration"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "FieldsV1", "FieldsV1"),
    ("k8s.io/apimachinery/pkg/api/resource", "Quantity", "Quantity"),
    ("k8s.io/apimachinery/pkg/util/intstr", "IntOrString", "IntOrString"),
    ("k8s.io/apimachinery/pkg/runtime", "RawExtension", "RawExtension"),
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSON", "JSON"),
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSONSchemaPropsOrArray", "SchemaOrArray"),
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "JSONSchemaPropsOrBool", "SchemaOrBool"),
    (
        "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
        "JSONSchemaPropsOrStringArray",
        "SchemaOrStrings",
    ),
];

const BASIC: &[&str] = &["string", "bool", "int32", "int64", "float64"];

impl Packages {
    pub fn new(modules: Modules) -> Packages {
        Packages { modules, read: RefCell::default() }
    }

    pub fn modules(&self) -> &Modules {
        &self.modules
    }

    /// The package at an import path.
    pub fn get(&self, path: &str) -> Result<Rc<Package>> {
        if let Some(package) = self.read.borrow().get(path) {
            return Ok(package.clone());
        }
        let package = Rc::new(self.load(path).with_context(|| format!("in package {path}"))?);
        self.read.borrow_mut().insert(path.to_owned(), package.clone());
        Ok(package)
    }

    fn load(&self, path: &str) -> Result<Package> {
        let folder = self.modules.package(path).context("none of the modules has it")?;
        let mut files = Vec::new();
        for entry in
            std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?
        {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if is_source(&name) {
                files.push(name);
            }
        }
        files.sort();
        let mut package = Package {
            path: path.to_owned(),
            types: BTreeMap::new(),
            order: Vec::new(),
            constants: Vec::new(),
            markers: Vec::new(),
        };
        for file in files {
            let source = source::parse(&std::fs::read_to_string(folder.join(file))?);
            let imports = Rc::new(source.imports);
            for declaration in source.types {
                let name = declaration.name.clone();
                let defined = Rc::new(Defined { declaration, imports: imports.clone() });
                if package.types.insert(name.clone(), defined).is_none() {
                    package.order.push(name);
                }
            }
            package.constants.extend(source.constants.into_iter().filter_map(|it| self.settle(it, &imports)));
            package.markers.extend(source.markers);
        }
        Ok(package)
    }

    /// The constant with its text; `None` if it is that of a package that no table is made from.
    fn settle(&self, constant: Constant, imports: &BTreeMap<String, String>) -> Option<Constant> {
        let Meaning::Same(import, name) = &constant.value else { return Some(constant) };
        let text = self.get(imports.get(import)?).ok()?.constant(name)?.to_owned();
        Some(Constant { value: Meaning::Text(text), ..constant })
    }

    /// What `expression`, written in `defined` of `package`, means.
    pub fn resolve(&self, package: &Package, defined: &Defined, expression: &Expression) -> Result<Type> {
        let plain = |shape| Type { is_pointer: false, shape, name: None, is_message: false };
        Ok(match expression {
            Expression::Any => plain(Shape::Scalar("any")),
            Expression::Pointer(inner) => Type { is_pointer: true, ..self.resolve(package, defined, inner)? },
            Expression::List(item) => match &**item {
                Expression::Named(None, name) if name == "byte" => plain(Shape::Scalar("bytes")),
                item => plain(Shape::List(Box::new(self.resolve(package, defined, item)?))),
            },
            Expression::Map(key, value) => {
                let key = self.resolve(package, defined, key)?;
                ensure!(matches!(key.shape, Shape::Scalar("string")), "a map with keys that are not text");
                plain(Shape::Map(Box::new(key), Box::new(self.resolve(package, defined, value)?)))
            }
            Expression::Named(None, name) => match BASIC.iter().find(|basic| *basic == name) {
                Some(basic) => plain(Shape::Scalar(basic)),
                None => self.named(package, name)?,
            },
            Expression::Named(Some(import), name) => {
                let path =
                    defined.imports.get(import).with_context(|| format!("nothing imports {import}"))?;
                match special(path, name) {
                    Some(scalar) => plain(Shape::Scalar(scalar)),
                    None => self.named(&*self.get(path)?, name)?,
                }
            }
            Expression::Struct(_) => bail!("a struct without a name"),
            Expression::Other => bail!("a type that has no form on the wire"),
        })
    }

    /// The type `name` of `package`.
    pub fn named(&self, package: &Package, name: &str) -> Result<Type> {
        if let Some(scalar) = special(&package.path, name) {
            return Ok(Type {
                is_pointer: false,
                shape: Shape::Scalar(scalar),
                name: None,
                is_message: false,
            });
        }
        let defined =
            package.types.get(name).with_context(|| format!("{} has no type {name}", package.path))?;
        let own = Name { package: short(&package.path), name: name.to_owned() };
        if matches!(defined.declaration.expression, Expression::Struct(_)) {
            return Ok(Type { is_pointer: false, shape: Shape::Struct(own), name: None, is_message: false });
        }
        let target = self
            .resolve(package, defined, &defined.declaration.expression)
            .with_context(|| format!("in {}.{name}", own.package))?;
        if defined.declaration.is_alias {
            return Ok(target);
        }
        Ok(match target.shape {
            Shape::Struct(_) => Type { shape: Shape::Struct(own), name: None, ..target },
            _ => {
                let is_message = defined.declaration.markers.iter().any(|it| it == "protobuf.nullable=true");
                Type { name: Some(own), is_message, ..target }
            }
        })
    }

    /// The members of a struct type, and where they are written.
    pub fn members(&self, package: &Package, name: &str) -> Result<(Rc<Package>, Rc<Defined>, Vec<Member>)> {
        let package = self.get(&package.path)?;
        let defined =
            package.types.get(name).with_context(|| format!("{} has no type {name}", package.path))?;
        match &defined.declaration.expression {
            Expression::Struct(members) => {
                let members = members.clone();
                Ok((package.clone(), defined.clone(), members))
            }
            Expression::Named(None, other) => self.members(&package, other),
            Expression::Named(Some(import), other) => {
                let path =
                    defined.imports.get(import).with_context(|| format!("nothing imports {import}"))?;
                self.members(&*self.get(path)?, other)
            }
            _ => bail!("{}.{name} is not a struct", package.path),
        }
    }
}

impl Package {
    /// The text of a constant.
    pub fn constant(&self, name: &str) -> Option<&str> {
        self.constants.iter().find(|it| it.name == name).and_then(Constant::text)
    }
}

/// `core/v1` of `k8s.io/api/core/v1`; `types` of `k8s.io/apimachinery/pkg/types`.
pub fn short(path: &str) -> String {
    match path.strip_prefix("k8s.io/apimachinery/pkg/") {
        Some(inside) if !inside.starts_with("apis/") => inside.to_owned(),
        _ => {
            let mut parts = path.rsplit('/');
            let (version, group) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            format!("{group}/{version}")
        }
    }
}

fn special(path: &str, name: &str) -> Option<&'static str> {
    SPECIAL.iter().find(|it| it.0 == path && it.1 == name).map(|it| it.2)
}

fn is_source(file: &str) -> bool {
    file.ends_with(".go")
        && !file.ends_with("_test.go")
        && !file.starts_with("zz_generated")
        && !file.contains("generated.")
}
