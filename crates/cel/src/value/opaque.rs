//! Values of libraries: quantities, versions, addresses, URLs, formats, authorization checks, objects of patches.

use std::fmt;
use std::net::IpAddr;

use keelson_object::SmolStr;
use keelson_object::scalar::{Quantity, ScalarError};

use super::{List, MapVal, Val, equal};
use crate::authz::{Decision, ResourceTarget, Subject};
use crate::fail::{Failure, fail};
use crate::library::amount::Small;
use crate::library::format::Format;
use crate::library::net::Cidr;
use crate::library::semver::Semver;
use crate::library::url::Url;

/// A value that only its library can look into.
#[derive(Clone, Debug)]
pub enum Opaque<'a> {
    /// `quantity("1Gi")`
    Quantity {
        /// The amount.
        amount: Quantity,
        /// Whether it was computed by `add` or `sub`: upstream, such a quantity is not equal to any other on the right
        /// of `==`.
        is_sum: bool,
        /// The amount as Go keeps it, if it is small.
        small: Option<Small>,
    },
    /// `ip("10.0.0.1")`
    Ip(IpAddr),
    /// `cidr("10.0.0.0/8")`
    Cidr(Cidr),
    /// `url("https://example.com")`
    Url(Box<Url>),
    /// `semver("1.0.0")`
    Semver(Box<Semver>),
    /// `format.dns1123Label()`
    Format(&'static Format),
    /// `authorizer`, or `authorizer.serviceAccount(…)`
    Authorizer(Subject),
    /// `authorizer.path("/healthz")`
    PathCheck(Subject, SmolStr),
    /// `authorizer.group("apps")`
    GroupCheck(Subject, SmolStr),
    /// `authorizer.group("apps").resource("deployments")…`
    ResourceCheck(Subject, Box<ResourceTarget>),
    /// The answer to a check.
    Decision(Decision),
    /// In an optional only: a value that cel-go could not convert. Reading it is an error.
    Unreadable(Failure),
    /// `Object{…}`, `JSONPatch{…}`
    Object(Box<Object<'a>>),
}

/// An object that an expression built for a patch.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// The name of the type: `Object.spec`.
    pub type_name: SmolStr,
    /// The fields that are set.
    pub fields: Vec<(SmolStr, Val<'a>)>,
}

impl<'a> Object<'a> {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<&Val<'a>> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// The first field whose object is not of the type that its path asks for: `Object.spec` at `spec`. Lists and maps
    /// on the way have no names. A patch with such a field is refused.
    ///
    /// Upstream: apiserver/pkg/cel/mutation/dynamic/objects.go, CheckTypeNamesMatchFieldPathNames (v1.36.4).
    pub fn check_type_names(&self) -> Result<(), Failure> {
        self.check_names(&self.type_name)
    }

    fn check_names(&self, path: &str) -> Result<(), Failure> {
        if self.type_name != path {
            return fail!(
                "unexpected type name {:?}, expected {path:?}, which matches field name path from root Object type",
                self.type_name.as_str()
            );
        }
        self.fields.iter().try_for_each(|(name, value)| check_names(value, &format!("{path}.{name}")))
    }

    pub(super) fn is_equal(&self, other: &Object<'_>) -> Result<bool, Failure> {
        if self.type_name != other.type_name || self.fields.len() != other.fields.len() {
            return Ok(false);
        }
        for (name, value) in &self.fields {
            let Some(there) = other.field(name) else { return Ok(false) };
            if !equal::is_equal(value, there)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn check_names(value: &Val<'_>, path: &str) -> Result<(), Failure> {
    match value {
        Val::Opaque(opaque) => match &**opaque {
            Opaque::Object(object) => object.check_names(path),
            _ => Ok(()),
        },
        Val::List(list @ (List::Owned(_) | List::Concat(_))) => {
            list.iter().try_for_each(|item| check_names(&item?, path))
        }
        Val::Map(MapVal::Owned(entries)) => {
            entries.iter().try_for_each(|(_, value)| check_names(value, path))
        }
        _ => Ok(()),
    }
}

impl Opaque<'_> {
    /// The quantity that a text means.
    pub fn quantity(text: &str) -> Result<Self, ScalarError> {
        Ok(Opaque::Quantity { amount: Quantity::parse(text)?, is_sum: false, small: Small::parse(text) })
    }

    /// The type that Go shows for the value in the value of the library, where cel-go cannot convert that back.
    pub(super) fn go_native_type(&self) -> Option<&'static str> {
        Some(match self {
            Opaque::Quantity { .. } => "*resource.Quantity",
            Opaque::Ip(_) => "netip.Addr",
            Opaque::Cidr(_) => "netip.Prefix",
            Opaque::Url(_) => "*url.URL",
            Opaque::Semver(_) => "semver.Version",
            _ => return None,
        })
    }

    /// The name of the type.
    pub fn type_name(&self) -> &str {
        match self {
            Opaque::Quantity { .. } => "kubernetes.Quantity",
            Opaque::Ip(_) => "net.IP",
            Opaque::Cidr(_) => "net.CIDR",
            Opaque::Url(_) => "kubernetes.URL",
            Opaque::Semver(_) => "kubernetes.Semver",
            Opaque::Format(_) => "kubernetes.NamedFormat",
            Opaque::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Opaque::PathCheck(..) => "kubernetes.authorization.PathCheck",
            Opaque::GroupCheck(..) => "kubernetes.authorization.GroupCheck",
            Opaque::ResourceCheck(..) => "kubernetes.authorization.ResourceCheck",
            Opaque::Decision(_) => "kubernetes.authorization.Decision",
            Opaque::Unreadable(_) => "error",
            Opaque::Object(object) => &object.type_name,
        }
    }

    /// The size for costs: bytes of an address or of the prefix of a network.
    pub(super) fn size(&self) -> u64 {
        match self {
            Opaque::Ip(IpAddr::V4(_)) => 4,
            Opaque::Ip(IpAddr::V6(_)) => 16,
            Opaque::Cidr(cidr) => u64::from(cidr.bits.div_ceil(8)),
            _ => 1,
        }
    }

    /// Only objects of patches have a test for zero.
    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Opaque::Object(object) if object.fields.is_empty())
    }
}

impl fmt::Display for Opaque<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opaque::Quantity { amount, .. } => write!(f, "{amount}"),
            Opaque::Ip(address) => write!(f, "{address}"),
            Opaque::Cidr(cidr) => write!(f, "{cidr}"),
            Opaque::Url(url) => write!(f, "{url}"),
            Opaque::Semver(version) => write!(f, "{version}"),
            Opaque::Format(format) => f.write_str(format.name),
            other => f.write_str(other.type_name()),
        }
    }
}
