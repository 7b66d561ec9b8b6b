//! Flags: upstream's flags by name, type and default, and a few of our own.
//!
//! Flags are data. Each section of the help is a table in a separate file; [`parse`] parses a command line by
//! these tables exactly as upstream's parser does, and [`help`] prints them. [`crate::config`] decides what
//! the values mean.

mod admission;
mod api_enablement;
mod auditing;
mod authentication;
mod authorization;
mod egress_selector;
mod etcd;
mod features;
mod generic;
mod global;
mod go_csv;
pub(crate) mod go_number;
mod go_version;
mod help;
mod logs;
mod metrics;
mod misc;
mod parse;
mod secure_serving;
mod shown;
mod standalone;
mod traces;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::Path;

use keelson_object::scalar::Duration;

pub use help::help;
pub use parse::parse;
pub use value::{NamedCertKey, Value, VersionWish};

pub(crate) use go_number::parse_bool;
pub(crate) use go_version::GoVersion;

/// The name under which the binary was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// `keelson`: it creates everything it needs in its data folder.
    Standalone,
    /// `kube-apiserver`: upstream's flags with upstream's defaults.
    KubeApiserver,
}

/// One flag: its name, type and default.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The name, without dashes.
    pub name: &'static str,
    /// The letter of the short form.
    pub short: Option<char>,
    /// The type of the value.
    pub kind: Kind,
    /// The default, as it would be typed; empty is the zero value of the kind.
    pub default: &'static str,
    /// One clause for the help.
    pub help: &'static str,
    /// Whether it has an effect.
    pub status: Status,
    /// Whether the help leaves it out.
    pub hidden: bool,
}

/// Whether a flag has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has the documented effect.
    Acts,
    /// It is parsed and validated, but has no effect yet. Setting it prints a warning.
    NotYet,
    /// It has no effect any more. Setting it prints this message.
    Deprecated(&'static str),
}

/// The type of the value of a flag. The names in the help are upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true`, `false`; alone it is `true`.
    Bool,
    /// A signed number.
    Int,
    /// An unsigned number.
    Uint,
    /// A number with a fraction.
    Float,
    /// A number with a fraction in single precision.
    Float32,
    /// `1m30s`
    Duration,
    /// An address.
    Ip,
    /// Any text.
    Text,
    /// Comma-separated; repeating adds.
    List,
    /// One value each time; repeating adds.
    Array,
    /// Comma-separated `key=value`; repeating adds.
    Map,
    /// Like [`Kind::Map`], but the value may be missing.
    Settings,
    /// Comma-separated `component:key=value`; repeating adds.
    Gates,
    /// `cert,key:names`; repeating adds.
    CertKeys,
    /// `30000-32767`
    PortRange,
    /// `64Ki`
    Quantity,
    /// A small number, such as a log level.
    Level,
    /// Comma-separated `pattern=N`; repeating adds.
    Modules,
    /// `true`, `false`, `raw` or a version.
    Version,
    /// `key=value`, quoted as CSV where needed; repeating adds.
    LabelMap,
    /// Comma-separated numbers; repeating adds.
    Int32List,
}

/// The flags under one heading of the help.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The heading without the word `flags`.
    pub title: &'static str,
    /// The flags, by name.
    pub flags: &'static [Flag],
}

/// The values of a command line, and the defaults of other flags.
#[derive(Clone, Debug)]
pub struct Flags {
    face: Face,
    values: BTreeMap<&'static str, Value>,
    set: BTreeSet<&'static str>,
    /// Notices to print at the start.
    notices: Vec<String>,
    /// Arguments that are not flags; upstream accepts none.
    arguments: Vec<String>,
}

/// Upstream's sections in upstream's order.
const UPSTREAM: &[Section] = &[
    generic::SECTION,
    etcd::SECTION,
    secure_serving::SECTION,
    auditing::SECTION,
    features::SECTION,
    authentication::SECTION,
    authorization::SECTION,
    api_enablement::SECTION,
    egress_selector::SECTION,
    admission::SECTION,
    metrics::SECTION,
    logs::SECTION,
    traces::SECTION,
    misc::SECTION,
    global::SECTION,
];

impl Face {
    /// The face, by the name of the program or the first argument, and the arguments for [`parse`].
    #[must_use]
    pub fn of(mut command_line: Vec<OsString>) -> (Face, Vec<OsString>) {
        const NAME: &str = "kube-apiserver";
        let program = if command_line.is_empty() { OsString::new() } else { command_line.remove(0) };
        if Path::new(&program).file_name().is_some_and(|name| name == NAME) {
            return (Face::KubeApiserver, command_line);
        }
        if command_line.first().is_some_and(|first| first == NAME) {
            command_line.remove(0);
            return (Face::KubeApiserver, command_line);
        }
        (Face::Standalone, command_line)
    }

    /// The name in messages and in the help.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Face::Standalone => "keelson",
            Face::KubeApiserver => "kube-apiserver",
        }
    }

    /// The sections of the help, in order. A flag of an earlier section is left out of later ones.
    pub fn sections(self) -> impl Iterator<Item = (&'static str, Vec<&'static Flag>)> {
        let own: &[Section] = match self {
            Face::Standalone => &[standalone::SECTION],
            Face::KubeApiserver => &[standalone::HIDDEN],
        };
        let mut seen = BTreeSet::new();
        own.iter().chain(UPSTREAM).map(move |section| {
            let flags = section.flags.iter().filter(|flag| seen.insert(flag.name)).collect();
            (section.title, flags)
        })
    }
}

impl Flag {
    const fn new(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
        Flag { name, short: None, kind, default, help, status: Status::Acts, hidden: false }
    }

    /// A flag that has its documented effect.
    const fn acts(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
        Flag::new(name, kind, default, help)
    }

    /// A flag that is accepted without effect so far.
    const fn not_yet(name: &'static str, kind: Kind, default: &'static str, help: &'static str) -> Flag {
        Flag { status: Status::NotYet, ..Flag::new(name, kind, default, help) }
    }

    /// A deprecated flag that the help still shows.
    const fn deprecated(name: &'static str, kind: Kind, message: &'static str, help: &'static str) -> Flag {
        Flag { status: Status::Deprecated(message), ..Flag::new(name, kind, "", help) }
    }

    /// A flag that is only accepted for old command lines.
    const fn retired(name: &'static str, kind: Kind, default: &'static str, message: &'static str) -> Flag {
        Flag { status: Status::Deprecated(message), hidden: true, ..Flag::new(name, kind, default, "") }
    }

    const fn short(mut self, letter: char) -> Flag {
        self.short = Some(letter);
        self
    }

    const fn hidden(mut self) -> Flag {
        self.hidden = true;
        self
    }
}

/// The flag tables and the code that reads them are written together; a test visits every name and kind.
const KNOWN: &str = "the flag exists with this kind";

impl Flags {
    /// The name under which the binary was called.
    #[must_use]
    pub fn face(&self) -> Face {
        self.face
    }

    /// Whether the flag was set on the command line.
    #[must_use]
    pub fn was_set(&self, name: &str) -> bool {
        self.set.contains(name)
    }

    /// The names of the flags that were set on the command line.
    pub fn names_set(&self) -> impl Iterator<Item = &'static str> {
        self.set.iter().copied()
    }

    /// Deprecation notices, in the order of the command line, as upstream prints them.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The arguments that are not flags.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// The names of flags that were set although they have no effect yet.
    pub fn without_effect(&self) -> impl Iterator<Item = &'static str> {
        let tables = self.face.sections().flat_map(|(_, flags)| flags);
        tables.filter(|it| it.status == Status::NotYet && self.was_set(it.name)).map(|it| it.name)
    }

    /// The value of a flag of any kind.
    #[must_use]
    pub fn value(&self, name: &str) -> &Value {
        self.values.get(name).expect(KNOWN)
    }

    /// The value of a [`Kind::Bool`].
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.value(name), Value::Bool(true))
    }

    /// The value of a [`Kind::Text`].
    #[must_use]
    pub fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Text(text) => text,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::Int`] or a [`Kind::Level`].
    #[must_use]
    pub fn int(&self, name: &str) -> i64 {
        match self.value(name) {
            Value::Int(number) => *number,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::Float`].
    #[must_use]
    pub fn float(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Float(number) => *number,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::Duration`].
    #[must_use]
    pub fn duration(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Duration(duration) => *duration,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::Ip`].
    #[must_use]
    pub fn ip(&self, name: &str) -> Option<IpAddr> {
        match self.value(name) {
            Value::Ip(address) => *address,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::List`] or a [`Kind::Array`].
    #[must_use]
    pub fn list(&self, name: &str) -> &[String] {
        match self.value(name) {
            Value::List(items) => items,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::Map`], [`Kind::Settings`], [`Kind::Gates`], [`Kind::Modules`] or [`Kind::LabelMap`]:
    /// pairs in the order of the command line.
    #[must_use]
    pub fn pairs(&self, name: &str) -> &[(String, String)] {
        match self.value(name) {
            Value::Pairs(pairs) => pairs,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::Version`].
    #[must_use]
    pub fn version(&self, name: &str) -> &VersionWish {
        match self.value(name) {
            Value::Version(wish) => wish,
            _ => panic!("{KNOWN}: {name}"),
        }
    }

    /// The value of a [`Kind::CertKeys`].
    #[must_use]
    pub fn cert_keys(&self, name: &str) -> &[NamedCertKey] {
        match self.value(name) {
            Value::CertKeys(pairs) => pairs,
            _ => panic!("{KNOWN}: {name}"),
        }
    }
}

#[cfg(test)]
mod tests;
