//! The built-in resources of Kubernetes: declarations and rules, no handlers.

#![deny(missing_docs)]

pub mod catalog;

mod access;
mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod authorization;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
mod discovery;
mod events;
mod flowcontrol;
mod internal;
mod lifecycle;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource_k8s;
mod scheduling;
mod shared;
mod storage;
mod storagemigration;

pub mod services {
    //! Allocation of service addresses and ports, for the controllers that repair it.

    pub use crate::core::service::{
        Asked, ClusterAddresses, FAMILY_LABEL, Family, KEEPER, MANAGED_BY, NodePorts, Outcomes, Owner,
        PortCounts, PortRange, PortRefusal, PortSet, RangeCounts, RangeUse, ServiceCounts, Stored, Tally,
        address_numbers, port_numbers, range_use,
    };
}

pub mod text_rules {
    //! Rules about text that files of the server share with objects.

    pub use crate::shared::url;
}

pub mod certificate_requests {
    //! Certificate requests, for the controller that signs them.

    pub use crate::certificates::keys::signature_problem;
}

pub use access::{Access, Tokens};
pub use catalog::{ServiceRanges, Settings, groups};
