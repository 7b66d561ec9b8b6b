//! For tests: the real binary as a process, an HTTPS client, certificates, fixtures.
//!
//! Everything here treats the server as a black box: it is started from its binary, called over TLS and
//! stopped with a signal. Failures panic with the tail of the server's log, because a test needs the reason
//! and cannot continue.
#![warn(missing_docs)]

mod binary;
mod callee;
mod client;
pub mod connect;
mod etcd;
pub mod fixture;
mod grpc;
mod kine;
pub mod kms;
mod kubeconfig;
pub mod memory;
pub mod openapi;
pub mod pki;
mod proxy;
mod server;
pub mod signer;
pub mod tool;
mod tunnels;
pub mod yardstick;

pub use binary::Binary;
pub use callee::{Asked, Callee};
pub use client::{Answer, Call, Client, Stream};
pub use connect::{Connector, Credentials, Identity, Protocol};
pub use etcd::Etcd;
pub use kine::Kine;
pub use kubeconfig::Kubeconfig;
pub use proxy::{Proxy, Way};
pub use server::{Options, RunningServer, free_port};
pub use tunnels::{Tunnel, Tunnels};
