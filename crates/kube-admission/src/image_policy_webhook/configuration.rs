//! Configuration of ImagePolicyWebhook: the webhook, and how long its answers are cached.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use keelson_object::scalar::Duration as Shown;
use keelson_object::{Map, Value};
use keelson_schema::Schema;

/// The content of the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// Leads to the webhook.
    pub(crate) kubeconfig: PathBuf,
    /// How long an allow is cached; zero disables caching.
    pub(super) allow_ttl: Duration,
    /// How long a deny is cached; zero disables caching.
    pub(super) deny_ttl: Duration,
    /// The first delay before a call is repeated.
    pub(super) retry_backoff: Duration,
    /// Whether images may run when the webhook does not answer.
    pub(super) default_allow: bool,
}

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::by_hand(
        "time",
        &[
            (
                "imagePolicyWebhookConfig",
                "kubeConfigFile string; allowTTL Duration=int64; denyTTL Duration=int64; \
                 retryBackoff Duration=int64; defaultAllow bool",
            ),
            ("AdmissionConfig", "imagePolicy imagePolicyWebhookConfig"),
        ],
    )
});

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;

/// In nanoseconds.
struct Range {
    unit: i64,
    least: i64,
    most: i64,
    default: i64,
}

/// Upstream: plugin/pkg/admission/imagepolicy/config.go (v1.36.4).
const BACKOFF: Range = Range { unit: SECOND / 1000, least: 1, most: 5 * MINUTE, default: SECOND / 2 };
const ALLOW: Range = Range { unit: SECOND, least: SECOND, most: 30 * MINUTE, default: 5 * MINUTE };
const DENY: Range = Range { unit: SECOND, least: SECOND, most: 30 * MINUTE, default: 30 * SECOND };

impl Configuration {
    /// Reads the configuration, or returns all errors.
    ///
    /// Upstream: plugin/pkg/admission/imagepolicy/config.go, normalizeWebhookConfig (v1.36.4).
    pub(crate) fn read(document: &Map) -> Result<Configuration, Vec<String>> {
        let mut value = Value::Map(document.clone());
        SCHEMA.conform(&mut value).map_err(|error| vec![error.to_string()])?;
        static NONE: Map = Map::new();
        let map = value.as_map().and_then(|it| it.map("imagePolicy")).unwrap_or(&NONE);
        let mut errors = Vec::new();
        let mut time = |key, range: Range| {
            let time = range.read(map.int(key).unwrap_or_default());
            time.map_err(|error| errors.push(error)).unwrap_or_default()
        };
        let configuration = Configuration {
            kubeconfig: PathBuf::from(map.str("kubeConfigFile").unwrap_or_default()),
            retry_backoff: time("retryBackoff", BACKOFF),
            allow_ttl: time("allowTTL", ALLOW),
            deny_ttl: time("denyTTL", DENY),
            default_allow: map.bool("defaultAllow").unwrap_or_default(),
        };
        if errors.is_empty() { Ok(configuration) } else { Err(errors) }
    }
}

impl Range {
    /// Zero is the default, minus one is never.
    fn read(&self, number: i64) -> Result<Duration, String> {
        let nanos = match number {
            -1 => 0,
            0 => self.default,
            number => {
                let nanos = number.wrapping_mul(self.unit);
                if !(self.least..=self.most).contains(&nanos) {
                    let [least, most, nanos] = [self.least, self.most, nanos].map(Shown::from_nanos);
                    return Err(format!("valid value is between {least} and {most}, got {nanos}"));
                }
                nanos
            }
        };
        Ok(Shown::from_nanos(nanos).to_std())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Configuration;
    use crate::testing::map;

    fn read(fields: &str) -> Result<Configuration, Vec<String>> {
        Configuration::read(&map(&format!(r#"{{"imagePolicy":{{{fields}}}}}"#)))
    }

    #[track_caller]
    fn check_times(fields: &str, [backoff, allow, deny]: [u64; 3]) {
        let found = read(fields).expect("a configuration");
        assert_eq!(found.retry_backoff, Duration::from_millis(backoff));
        assert_eq!(
            (found.allow_ttl, found.deny_ttl),
            (Duration::from_secs(allow), Duration::from_secs(deny))
        );
    }

    #[test]
    fn what_is_not_said_is_upstreams() {
        check_times("", [500, 300, 30]);
        check_times(r#""retryBackoff":10,"allowTTL":20,"denyTTL":-1"#, [10, 20, 0]);
    }

    #[test]
    fn everything_that_is_wrong_is_said_in_upstreams_words() {
        assert_eq!(
            read(r#""allowTTL":4000,"denyTTL":-2,"retryBackoff":999999999"#).expect_err("it is wrong"),
            [
                "valid value is between 1ns and 5m0s, got 277h46m39.999s",
                "valid value is between 1s and 30m0s, got 1h6m40s",
                "valid value is between 1s and 30m0s, got -2s",
            ]
        );
        assert_eq!(
            read(r#""allowTTL":"x""#).expect_err("it is wrong"),
            [
                "json: cannot unmarshal string into Go struct field imagePolicyWebhookConfig.imagePolicy.allowTTL of type time.Duration"
            ]
        );
    }
}
