//! Why a text is not the scalar it should be, in the words that clients see.

use thiserror::Error;

use super::quote::quote_ascii;

/// Why a text is not the scalar it should be. The texts are Go's: they reach clients unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScalarError {
    /// A time stops following its layout.
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
    /// A part of a time is a number that cannot be.
    #[error("parsing time {}: {part} out of range", quote_ascii(value))]
    TimeRange {
        /// The whole text.
        value: String,
        /// Which part: `month`, `day`, `hour` …
        part: &'static str,
    },
    /// Something follows a complete time.
    #[error("parsing time {}: extra text: {}", quote_ascii(value), quote_ascii(rest))]
    TimeTrailing {
        /// The whole text.
        value: String,
        /// What follows.
        rest: String,
    },
    /// Not a duration at all, or one that does not fit.
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
    /// A number with a unit that does not exist.
    #[error("time: unknown unit {} in duration {}", quote_ascii(unit), quote_ascii(value))]
    DurationUnknownUnit {
        /// The whole text.
        value: String,
        /// What stands where the unit should be.
        unit: String,
    },
    /// A quantity that is not a number and a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    QuantityFormat,
    /// A quantity whose number is none.
    #[error("unable to parse numeric part of quantity")]
    QuantityNumber,
    /// A quantity with a suffix that does not exist.
    #[error("unable to parse quantity's suffix")]
    QuantitySuffix,
    /// Text that should be a percentage and does not end in `%`.
    #[error("invalid value for IntOrString: invalid type: string is not a percentage")]
    NotPercent,
    /// A percentage whose number is none.
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
