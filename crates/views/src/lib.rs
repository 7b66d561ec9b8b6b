//! Typed views of built-in kinds over the untyped tree (generated).
