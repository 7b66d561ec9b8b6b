//! Black-box suites: real clients against the real binary.
