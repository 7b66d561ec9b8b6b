//! Values of flags as upstream prints them: in `/flagz`, and in the log at the start.

use std::collections::BTreeMap;

use super::{Flags, Kind, NamedCertKey, Value, VersionWish};

impl Flags {
    /// All of upstream's flags by name, each with its value in upstream's form.
    #[must_use]
    pub fn shown(&self) -> BTreeMap<String, String> {
        let sections = super::UPSTREAM.iter().flat_map(|section| section.flags);
        sections.map(|flag| (flag.name.to_owned(), shown(flag.kind, self.value(flag.name)))).collect()
    }
}

/// Upstream: github.com/spf13/pflag and component-base/cli/flag, the methods String (v1.36.4).
fn shown(kind: Kind, value: &Value) -> String {
    match value {
        Value::Bool(on) => on.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Duration(duration) => duration.to_string(),
        Value::Ip(address) => address.map_or_else(|| "<nil>".to_owned(), |it| it.to_string()),
        Value::Text(text) if kind == Kind::Quantity && text.is_empty() => "0".to_owned(),
        Value::Text(text) => text.clone(),
        Value::List(items) => format!("[{}]", items.iter().map(|it| csv(it)).collect::<Vec<_>>().join(",")),
        Value::Pairs(pairs) => shown_pairs(kind, pairs),
        Value::CertKeys(pairs) => format!("[{}]", pairs.iter().map(cert_key).collect::<Vec<_>>().join(";")),
        Value::PortRange(range) => range.map_or_else(String::new, |(first, last)| format!("{first}-{last}")),
        Value::Numbers(numbers) => {
            format!("[{}]", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
        }
        Value::Version(wish) => match wish {
            VersionWish::No => "false".to_owned(),
            VersionWish::Short => "true".to_owned(),
            VersionWish::Raw => "raw".to_owned(),
            VersionWish::Report(version) => version.clone(),
        },
    }
}

fn shown_pairs(kind: Kind, pairs: &[(String, String)]) -> String {
    let separator = if kind == Kind::Gates { ":" } else { "=" };
    let join = |(key, value): (&str, &str)| format!("{key}{separator}{value}");
    match kind {
        // These keep all occurrences.
        Kind::Gates | Kind::Modules => {
            let mut all: Vec<(&str, &str)> =
                pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            if kind == Kind::Gates {
                all.sort_by_key(|(component, _)| *component);
            }
            all.into_iter().map(join).collect::<Vec<_>>().join(",")
        }
        _ => {
            let last: BTreeMap<&str, &str> =
                pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let all = last.into_iter().map(join).collect::<Vec<_>>();
            match kind {
                Kind::LabelMap => {
                    format!("[{}]", all.iter().map(|it| csv(it)).collect::<Vec<_>>().join(","))
                }
                _ => all.join(","),
            }
        }
    }
}

fn cert_key(pair: &NamedCertKey) -> String {
    let names = if pair.names.is_empty() { String::new() } else { format!(":{}", pair.names.join(",")) };
    format!("{},{}{names}", pair.cert_file, pair.key_file)
}

/// One CSV field, in quotes if needed.
fn csv(field: &str) -> String {
    let needs_quotes = field.contains([',', '"', '\n', '\r']) || field.starts_with([' ', '\t']);
    if needs_quotes { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_owned() }
}

#[cfg(test)]
mod tests {
    use crate::flags::{Face, parse};

    #[track_caller]
    fn check(argument: &str, expected: &str) {
        let flags = parse(Face::KubeApiserver, &[argument.to_owned()]).expect("flags");
        let name = argument.trim_start_matches('-').split('=').next().unwrap_or_default();
        assert_eq!(flags.shown().get(name).map(String::as_str), Some(expected), "{argument}");
    }

    #[test]
    fn values_have_upstreams_form() {
        check("--v=4", "4");
        check("--advertise-address=10.0.0.1", "10.0.0.1");
        check("--authorization-mode=Node,RBAC", "[Node,RBAC]");
        check("--request-timeout=90s", "1m30s");
        check("--goaway-chance=0.01", "0.01");
        check("--runtime-config=b/v1=true,a/v1=false", "a/v1=false,b/v1=true");
        check("--feature-gates=WatchList=true", ":WatchList=true");
        check("--service-account-issuer=a,b", "[\"a,b\"]");
        check("--allow-metric-labels=a,b='c'", "[\"a,b='c'\"]");
        check("--tls-sni-cert-key=a,b:x,y", "[a,b:x,y]");
        check("--service-node-port-range=1-2", "1-2");
    }

    #[test]
    fn defaults_have_upstreams_form() {
        let shown = parse(Face::KubeApiserver, &[]).expect("flags").shown();
        let expected = [
            ("advertise-address", "<nil>"),
            ("allow-metric-labels", "[]"),
            ("audit-log-batch-throttle-qps", "0"),
            ("event-ttl", "1h0m0s"),
            ("feature-gates", ""),
            ("log-text-info-buffer-size", "0"),
            ("oidc-required-claim", ""),
            ("service-node-port-range", "30000-32767"),
            ("tls-curve-preferences", "[]"),
            ("version", "false"),
        ];
        for (name, value) in expected {
            assert_eq!(shown.get(name).map(String::as_str), Some(value), "{name}");
        }
        assert!(!shown.contains_key("store"), "flags that only Keelson has are not shown");
    }
}
