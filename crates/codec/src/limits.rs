//! How much the readers take. Upstream's numbers, because clients run into them.

/// The largest request body: beyond it the answer is 413.
pub const MAX_BODY: usize = 3 * 1024 * 1024;

/// How deep lists and maps may be nested, in JSON, in YAML and in CBOR.
pub const MAX_DEPTH: usize = 10_000;

/// How many duplicate fields are named; the rest is found, but not told.
pub const MAX_DUPLICATES: usize = 100;

/// How much of a number that does not fit is repeated in the error message.
pub const MAX_ECHO: usize = 1024;

/// Up to how many produced nodes a YAML document may consist almost wholly of expanded aliases.
pub const ALIAS_RATIO_LOW: usize = 400_000;

/// From how many produced nodes on only a tenth of a YAML document may come from aliases.
pub const ALIAS_RATIO_HIGH: usize = 4_000_000;

/// How many nodes a YAML document may produce at all: more than a body of [`MAX_BODY`] bytes can spell out.
pub const MAX_YAML_NODES: usize = 4_500_000;

/// How many items a list in CBOR may announce.
pub const MAX_CBOR_ITEMS: u64 = 2_147_483_647;

/// How many pairs a map in CBOR may announce.
pub const MAX_CBOR_PAIRS: u64 = 2_097_152;
