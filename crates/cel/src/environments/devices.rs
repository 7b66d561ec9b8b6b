//! Device selectors: the variable `device`, and the sizes that its parts can have.
//!
//! Upstream: dynamic-resource-allocation/cel/compile.go, newCompiler (v1.36.4).

use std::sync::Arc;

use super::objects::Objects;
use crate::env::Env;
use crate::estimate::{Range, Sizes};
use crate::libraries::Library;
use crate::types::Type;

/// The longest domain of an attribute.
const DOMAIN: u64 = 63;
/// The longest name of an attribute in its domain.
const ID: u64 = 32;
/// The longest name of a driver.
const DRIVER: u64 = 63;
/// The longest text of an attribute.
const VALUE: u64 = 64;
/// The most attributes and capacities of a device.
const ATTRIBUTES: u64 = 32;
/// The most values of a list attribute.
pub(crate) const LIST_VALUES: u64 = 48;

/// The features that change what selectors may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceFeatures {
    /// `DRAConsumableCapacity`: `device.allowMultipleAllocations`.
    pub consumable_capacity: bool,
    /// `DRAListTypeAttributes`: attributes can be lists, and `includes` looks into them.
    pub list_attributes: bool,
}

/// The environment of device selectors.
pub fn devices(base: Env, features: DeviceFeatures) -> Env {
    let mut env = base.with_library(Library::Bindings);
    let mut objects = Objects::default();
    if !features.consumable_capacity {
        objects.hidden = Some("allowMultipleAllocations");
    }
    if features.list_attributes {
        env = env.with_library(Library::DeviceIncludes);
        objects.attributes = Some(Type::map(Type::String, Type::map(Type::String, Type::Dyn)));
    }
    env.with_types(Arc::new(objects)).with_variable("device", Type::object("kubernetes.DRADevice"))
}

/// The sizes of the parts of `device`, for the cost estimate.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSizes(pub DeviceFeatures);

impl Sizes for DeviceSizes {
    fn size(&self, path: &[&str]) -> Option<Range> {
        let value = if self.0.list_attributes { VALUE.max(LIST_VALUES) } else { VALUE };
        let (root, path) = path.split_first()?;
        if *root != "device" {
            return None;
        }
        let max = match path {
            [] => 0,
            ["driver"] => DRIVER,
            ["allowMultipleAllocations"] => 1,
            ["attributes" | "capacity"] | ["attributes" | "capacity", "@items" | "@values"] => ATTRIBUTES,
            ["attributes" | "capacity", "@keys"] => DOMAIN,
            ["attributes" | "capacity", "@items" | "@values", "@keys"] => ID,
            ["attributes", "@items" | "@values", _] => value,
            ["capacity", "@items" | "@values", "@items" | "@values"] => 0,
            _ => return None,
        };
        Some(Range { min: 0, max })
    }
}
