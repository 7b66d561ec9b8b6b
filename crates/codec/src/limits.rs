//! Limits of the readers. The numbers are upstream's, because clients depend on them.

/// The limit of a request body: larger ones get 413.
pub const MAX_BODY: usize = 3 * 1024 * 1024;

/// The maximum nesting of lists and maps, in JSON, in YAML and in CBOR.
pub const MAX_DEPTH: usize = 10_000;

/// The limit of duplicate fields that are reported.
pub const MAX_DUPLICATES: usize = 100;

/// The limit of a number that is repeated in an error message.
pub const MAX_ECHO: usize = 1024;

/// The number of nodes up to which a YAML document may consist almost wholly of expanded aliases.
pub const ALIAS_RATIO_LOW: usize = 400_000;

/// The number of nodes from which on only a tenth of a YAML document may come from aliases.
pub const ALIAS_RATIO_HIGH: usize = 4_000_000;

/// The limit of nodes of a YAML document: more than a body of [`MAX_BODY`] bytes can contain.
pub const MAX_YAML_NODES: usize = 4_500_000;

/// The limit of items in a CBOR list.
pub const MAX_CBOR_ITEMS: u64 = 2_147_483_647;

/// The limit of pairs in a CBOR map.
pub const MAX_CBOR_PAIRS: u64 = 2_097_152;
