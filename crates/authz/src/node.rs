//! Node authorizer: what a kubelet may do, which is little more than to run the pods of its node.

mod authorizer;
mod feed;
mod graph;
mod identity;
pub mod references;
#[cfg(test)]
mod tests;

pub use authorizer::{Features, NodeAuthorizer};
pub use feed::Feed;
pub use graph::Graph;
pub use identity::node_name;
