//! Generic flags of the server.

use super::{Flag, Kind, Section};

/// The section `Generic flags` of the help.
pub(super) const SECTION: Section = Section {
    title: "Generic",
    flags: &[
        Flag::acts(
            "advertise-address",
            Kind::Ip,
            "",
            "address under which other members of the cluster reach this server; the bind address when empty",
        ),
        Flag::acts(
            "cors-allowed-origins",
            Kind::List,
            "",
            "regular expressions of the origins that browsers may call from; each must be anchored at both ends of the host",
        ),
        Flag::acts(
            "emulated-version",
            Kind::List,
            "",
            "minor version whose APIs and features are offered instead of the newest, as in kube=1.35",
        ),
        Flag::acts(
            "emulation-forward-compatible",
            Kind::Bool,
            "",
            "with an emulated version, offer newer versions of the enabled APIs too",
        ),
        Flag::acts("external-hostname", Kind::Text, "", "host name to use in URLs that are handed out"),
        Flag::acts(
            "feature-gates",
            Kind::Gates,
            "",
            "features to switch, as in WatchList=true,kube:OpenAPIEnums=false",
        ),
        Flag::acts(
            "goaway-chance",
            Kind::Float,
            "",
            "probability, up to 0.02, that an HTTP/2 client is asked to connect again, which spreads clients over several servers",
        ),
        Flag::acts(
            "livez-grace-period",
            Kind::Duration,
            "",
            "how long after the start /livez stays good although not everything has started",
        ),
        Flag::acts(
            "max-mutating-requests-inflight",
            Kind::Int,
            "200",
            "how many writing requests may run at once; 0 is no limit",
        ),
        Flag::acts(
            "max-requests-inflight",
            Kind::Int,
            "400",
            "how many reading requests may run at once; 0 is no limit",
        ),
        Flag::acts(
            "min-compatibility-version",
            Kind::List,
            "",
            "oldest minor version of the control plane that this server must get along with",
        ),
        Flag::acts(
            "min-request-timeout",
            Kind::Int,
            "1800",
            "least number of seconds that a watch is kept open; the real time is drawn at random above it",
        ),
        Flag::acts(
            "request-timeout",
            Kind::Duration,
            "1m0s",
            "how long a request may take unless it is a watch or a stream",
        ),
        Flag::acts(
            "runtime-config-emulation-forward-compatible",
            Kind::Bool,
            "",
            "with an emulated version, offer the newer API versions that --runtime-config names",
        ),
        Flag::acts(
            "shutdown-delay-duration",
            Kind::Duration,
            "",
            "how long to go on serving after the signal to stop, while /readyz already fails",
        ),
        Flag::acts(
            "shutdown-send-retry-after",
            Kind::Bool,
            "",
            "during the stop keep listening, and answer new requests with 429 and Retry-After",
        ),
        Flag::acts(
            "shutdown-watch-termination-grace-period",
            Kind::Duration,
            "",
            "how long to wait for watches to end during the stop",
        ),
        Flag::not_yet(
            "storage-initialization-timeout",
            Kind::Duration,
            "1m0s",
            "how long to wait for the storage before the server calls itself ready",
        ),
        Flag::acts(
            "strict-transport-security-directives",
            Kind::List,
            "",
            "directives of the Strict-Transport-Security header; no header when empty",
        ),
    ],
};
