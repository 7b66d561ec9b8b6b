//! Logging flags: the format and verbosity of the log.

use super::{FeatureGates, LogFormat, Logging};
use crate::flags::{Flags, Value};

/// The log settings, or everything that is wrong with the flags.
///
/// Upstream: staging/src/k8s.io/component-base/logs/api/v1/options.go, Validate (v1.36.4).
pub(super) fn read(flags: &Flags, gates: &FeatureGates) -> Result<Logging, Vec<String>> {
    let mut errors = Vec::new();
    let frequency = flags.duration("log-flush-frequency");
    if frequency.nanos() <= 0 {
        errors.push(format!("flushFrequency: Invalid value: \"{frequency}\": Must be greater than zero"));
    }
    let format = match flags.text("logging-format") {
        "text" => LogFormat::Text,
        "json" => LogFormat::Json,
        other => {
            errors.push(format!("format: Invalid value: \"{other}\": Unsupported log format"));
            LogFormat::Text
        }
    };
    if format == LogFormat::Json && !gates.is_on("LoggingBetaOptions") {
        errors.push(
            "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature".to_owned(),
        );
    }
    if flags.text("logging-format") != "text" && !flags.pairs("vmodule").is_empty() {
        errors.push("vmodule: Forbidden: Only supported for text log format".to_owned());
    }
    for form in ["text", "json"] {
        errors.extend(options(flags, gates, form));
    }
    if errors.is_empty() {
        Ok(Logging { format, level: u32::try_from(flags.int("v")).unwrap_or_default() })
    } else {
        Err(errors)
    }
}

/// Options that need an alpha feature.
fn options(flags: &Flags, gates: &FeatureGates, form: &str) -> Vec<String> {
    const GATE: &str = "LoggingAlphaOptions";
    let buffer = match flags.value(&format!("log-{form}-info-buffer-size")) {
        Value::Text(size) => size.as_str(),
        _ => "",
    };
    let has_buffer = buffer.bytes().any(|it| matches!(it, b'1'..=b'9'));
    let wishes =
        [(flags.is_on(&format!("log-{form}-split-stream")), "splitStream"), (has_buffer, "infoBufferSize")];
    let forbidden = wishes.into_iter().filter(|(is_wanted, _)| *is_wanted && !gates.is_on(GATE));
    forbidden
        .map(|(_, field)| format!("options.{form}.{field}: Forbidden: Feature {GATE} is disabled"))
        .collect()
}
