//! Values of libraries: quantities, versions, addresses, URLs, formats, authorization checks, objects of patches.

use std::fmt;
use std::net::IpAddr;

use keelson_object::SmolStr;
use keelson_object::scalar::Quantity;

use super::{Val, equal};
use crate::authz::{Decision, ResourceTarget, Subject};
use crate::fail::Failure;
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

impl Opaque<'_> {
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
