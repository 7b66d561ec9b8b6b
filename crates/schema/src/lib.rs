//! One description of every kind: fields, types, list keys, merge rules.
