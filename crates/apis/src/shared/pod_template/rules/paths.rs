//! Paths of files inside of volumes.

use keelson_object::{FieldErrors, Map, Path};

/// A path below the volume: relative, without steps up.
///
/// Upstream: pkg/apis/core/validation/validation.go, validateLocalDescendingPath (v1.36.4).
pub(crate) fn check_descending(path: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if path.starts_with('/') {
        errors.invalid(at, path, "must be a relative path");
    }
    check_no_backsteps(path, at, errors);
}

/// A path without steps up.
///
/// Upstream: pkg/apis/core/validation/validation.go, validatePathNoBacksteps (v1.36.4).
pub(crate) fn check_no_backsteps(path: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    if has_backsteps(path) {
        errors.invalid(at, path, "must not contain '..'");
    }
}

/// A path below the volume that does not begin like the links which nodes keep there.
///
/// Upstream: pkg/apis/core/validation/validation.go, ValidateLocalNonReservedPath (v1.36.4).
pub(crate) fn check_unreserved(path: &str, at: &Path<'_>, errors: &mut FieldErrors) {
    check_descending(path, at, errors);
    if path.starts_with("..") && !path.starts_with("../") {
        errors.invalid(at, path, "must not start with '..'");
    }
}

/// Whether a projected token has a path outside its volume.
///
/// Upstream: pkg/api/pod/util.go, hasNonLocalProjectedTokenPath (v1.36.4).
pub(super) fn has_wrong_token_path(spec: &Map) -> bool {
    let projected = spec.maps("volumes").filter_map(|it| it.map("projected"));
    let tokens = projected.flat_map(|it| it.maps("sources")).filter_map(|it| it.map("serviceAccountToken"));
    let mut paths = tokens.map(|it| it.str("path").unwrap_or_default());
    paths.any(|path| path.starts_with('/') || path.starts_with("..") || has_backsteps(path))
}

/// Whether a path contains `..`.
pub(crate) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|step| step == "..")
}
