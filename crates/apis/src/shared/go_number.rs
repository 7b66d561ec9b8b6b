//! Numbers in texts, as Go reads them.

use std::num::IntErrorKind;

use keelson_object::scalar::quote;

/// Why a text is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoNumber {
    /// It is not a number at all.
    Syntax,
    /// It is out of range; Go returns the nearest valid number.
    Range(i64),
}

impl NoNumber {
    /// Go's error message about `text`.
    pub(crate) fn about(self, text: &str) -> String {
        let problem = match self {
            NoNumber::Syntax => "invalid syntax",
            NoNumber::Range(_) => "value out of range",
        };
        format!("strconv.Atoi: parsing {}: {problem}", quote(text))
    }
}

/// Reads a whole number with an optional sign: `strconv.Atoi`.
pub(crate) fn atoi(text: &str) -> Result<i64, NoNumber> {
    text.parse::<i64>().map_err(|error| match error.kind() {
        IntErrorKind::PosOverflow => NoNumber::Range(i64::MAX),
        IntErrorKind::NegOverflow => NoNumber::Range(i64::MIN),
        _ => NoNumber::Syntax,
    })
}
