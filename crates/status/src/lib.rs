//! The Status object that clients read when something fails.
