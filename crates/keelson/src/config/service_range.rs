//! Service CIDRs: the ranges of cluster IPs.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};

/// One range of service addresses, or one of each address family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceRanges {
    /// The first range; its family is that of the service `kubernetes`.
    pub primary: IpNet,
    /// The second range.
    pub secondary: Option<IpNet>,
    /// How many ranges were given; more than two are an error that is reported later.
    pub(super) count: usize,
}

/// Upstream's default of `--service-cluster-ip-range`.
const DEFAULT: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::new(10, 0, 0, 0), 24);

impl ServiceRanges {
    /// Reads one or two ranges, separated by a comma.
    ///
    /// Upstream: cmd/kube-apiserver/app/options/completion.go, getServiceIPAndRanges (v1.36.4).
    pub(super) fn read(text: &str) -> Result<ServiceRanges, String> {
        if text.is_empty() {
            return Ok(ServiceRanges { primary: IpNet::V4(DEFAULT), secondary: None, count: 1 });
        }
        let ranges: Vec<&str> = text.split(',').collect();
        let read = |range: &str| range.trim().parse::<IpNet>().map(|it| it.trunc());
        let primary =
            read(ranges[0]).map_err(|_| "service-cluster-ip-range[0] is not a valid cidr".to_owned())?;
        if primary.max_prefix_len() - primary.prefix_len() < 3 {
            return Err("error determining service IP ranges for primary service cidr: \
                        the service cluster IP range must be at least 8 IP addresses"
                .to_owned());
        }
        let secondary = match ranges.get(1) {
            Some(range) => {
                Some(read(range).map_err(|_| "service-cluster-ip-range[1] is not an ip net".to_owned())?)
            }
            None => None,
        };
        Ok(ServiceRanges { primary, secondary, count: ranges.len() })
    }

    /// The address of the service `kubernetes`: the first of the first range.
    #[must_use]
    pub fn kubernetes_service(&self) -> IpAddr {
        match self.primary {
            IpNet::V4(net) => IpAddr::V4(Ipv4Addr::from_bits(net.network().to_bits() + 1)),
            IpNet::V6(net) => IpAddr::V6(std::net::Ipv6Addr::from_bits(net.network().to_bits() + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ServiceRanges;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match ServiceRanges::read(text) {
            Ok(ranges) => format!("{} {}", ranges.primary, ranges.kubernetes_service()),
            Err(error) => error,
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn the_first_address_is_that_of_the_service_kubernetes() {
        check("", "10.0.0.0/24 10.0.0.1");
        check("10.96.0.0/12", "10.96.0.0/12 10.96.0.1");
        check("10.96.3.4/12", "10.96.0.0/12 10.96.0.1");
        check("fd00::/108,10.0.0.0/16", "fd00::/108 fd00::1");
    }

    #[test]
    fn unusable_ranges_are_refused() {
        check("foo", "service-cluster-ip-range[0] is not a valid cidr");
        check("10.0.0.0/24,foo", "service-cluster-ip-range[1] is not an ip net");
        check(
            "10.0.0.0/30",
            "error determining service IP ranges for primary service cidr: the service cluster IP range must be at least 8 IP addresses",
        );
    }
}
