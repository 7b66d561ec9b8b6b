//! Validation rules (`x-kubernetes-validations`): compile, cost limits, evaluation.

#![deny(missing_docs)]
