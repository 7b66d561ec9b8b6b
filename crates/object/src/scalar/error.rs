//! Scalar errors, in the words that clients see.

use thiserror::Error;

use super::quote::quote_ascii;

/// Why a text is not a valid scalar. The texts are Go's: they reach clients unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScalarError {
    /// A time does not follow its layout.
    #[error(
        "parsing time {} as \"{layout}\": cannot parse {} as \"{element}\"",
        quote_ascii(value),
        quote_ascii(rest)
    )]
    TimeLayout {
        /// The whole text.
        value: String,
        /// The layout in Go's notation.
        layout: &'static str,
        /// The part of the text that does not fit.
        rest: String,
        /// The part of the layout that was expected there.
        element: &'static str,
    },
    /// A part of a time is out of range.
    #[error("parsing time {}: {part} out of range", quote_ascii(value))]
    TimeRange {
        /// The whole text.
        value: String,
        /// The part: `month`, `day`, `hour` …
        part: &'static str,
    },
    /// There is extra text after a time.
    #[error("parsing time {}: extra text: {}", quote_ascii(value), quote_ascii(rest))]
    TimeTrailing {
        /// The whole text.
        value: String,
        /// The extra text.
        rest: String,
    },
    /// Not a duration, or one that does not fit.
    #[error("time: invalid duration {}", quote_ascii(value))]
    Duration {
        /// The whole text.
        value: String,
    },
    /// A number without a unit.
    #[error("time: missing unit in duration {}", quote_ascii(value))]
    DurationUnit {
        /// The whole text.
        value: String,
    },
    /// The unit does not exist.
    #[error("time: unknown unit {} in duration {}", quote_ascii(unit), quote_ascii(value))]
    DurationUnknownUnit {
        /// The whole text.
        value: String,
        /// The text in the place of the unit.
        unit: String,
    },
    /// A quantity that is not a number and a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    QuantityFormat,
    /// The number of a quantity is malformed.
    #[error("unable to parse numeric part of quantity")]
    QuantityNumber,
    /// The suffix of a quantity does not exist.
    #[error("unable to parse quantity's suffix")]
    QuantitySuffix,
    /// A text that should be a percentage does not end in `%`.
    #[error("invalid value for IntOrString: invalid type: string is not a percentage")]
    NotPercent,
    /// The number of a percentage is malformed.
    #[error(
        "invalid value for IntOrString: invalid value {}: strconv.Atoi: parsing {}: {problem}",
        super::quote(value),
        super::quote(number)
    )]
    PercentNumber {
        /// The whole text.
        value: String,
        /// The text before `%`.
        number: String,
        /// `invalid syntax` or `value out of range`.
        problem: &'static str,
    },
}
