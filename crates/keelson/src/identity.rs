//! Identity of this server among the API servers of a cluster.

use aws_lc_rs::digest::{SHA256, digest};
use keelson_housekeeping::identity_lease::Identity;

use crate::machine;

/// The name of the component, which is part of the identity.
const COMPONENT: &str = "kube-apiserver";

/// The identity of this process on this machine.
pub(crate) fn identity() -> Identity {
    let host = machine::host_name().unwrap_or_else(|| String::from("localhost"));
    let name = name(&host);
    let holder = format!("{name}_{}", uuid::Uuid::new_v4());
    Identity { name, holder, host, peer_address: None }
}

/// Upstream: apiserver/pkg/server/config.go, NewConfig (v1.36.4).
fn name(host: &str) -> String {
    let mut data = Vec::new();
    for part in [host, COMPONENT] {
        data.extend(u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes());
        data.extend(part.as_bytes());
    }
    format!("apiserver-{}", base32(&digest(&SHA256, &data).as_ref()[..16]))
}

/// RFC 4648 in lower case, without padding.
fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = String::new();
    let (mut buffer, mut bits) = (0_u32, 0);
    for byte in bytes {
        buffer = buffer << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(char::from(LETTERS[(buffer >> bits & 31) as usize]));
        }
    }
    if bits > 0 {
        text.push(char::from(LETTERS[(buffer << (5 - bits) & 31) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{base32, name};

    #[test]
    fn base32_is_that_of_the_standard() {
        let cases = [("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")];
        for (text, expected) in cases {
            assert_eq!(base32(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_machine_has_one_name() {
        assert_eq!(name("a"), name("a"));
        assert_ne!(name("a"), name("b"));
        assert_eq!(name("a").len(), "apiserver-".len() + 26);
    }
}
