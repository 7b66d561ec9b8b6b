//! Flow hash: identifies a flow, which is one distinguisher (user or namespace) under one FlowSchema.

use aws_lc_rs::digest::{Context, SHA256};

/// Upstream: apiserver/pkg/util/flowcontrol/apf_controller.go, hashFlowID (v1.36.4).
pub fn flow_hash(flow_schema: &str, distinguisher: &str) -> u64 {
    let mut context = Context::new(&SHA256);
    context.update(flow_schema.as_bytes());
    context.update(&[0]);
    context.update(distinguisher.as_bytes());
    let digest = context.finish();
    let first: [u8; 8] = std::array::from_fn(|i| digest.as_ref()[i]);
    u64::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::flow_hash;

    #[test]
    fn name_and_distinguisher_are_separated() {
        assert_ne!(flow_hash("ab", "c"), flow_hash("a", "bc"));
        assert_eq!(flow_hash("a", "b"), flow_hash("a", "b"));
    }
}
