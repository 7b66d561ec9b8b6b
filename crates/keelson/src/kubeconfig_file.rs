//! Kubeconfigs that say where a webhook is.

use std::path::Path;

use keelson_codec::yaml;
use keelson_webhook_client::Target;

/// Where the kubeconfig in this file leads. The texts are upstream's.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go, LoadKubeconfig (v1.36.4).
pub fn target(path: &Path) -> Result<Target, String> {
    let data = std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("stat {}: no such file or directory", path.display()),
        _ => format!("error loading config file \"{}\": {error}", path.display()),
    })?;
    let document = yaml::read(&data)
        .map_err(|error| format!("error loading config file \"{}\": {error}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    // Errors name files by their whole path, as upstream's do.
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    Target::from_kubeconfig(&document.value, &folder).map_err(|error| error.to_string())
}
