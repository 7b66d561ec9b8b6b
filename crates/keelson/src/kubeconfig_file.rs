//! Kubeconfig files of webhooks.

use std::path::Path;

use keelson_codec::{config_file, yaml};
use keelson_webhook_client::Target;

use crate::go_file;

/// The target of the kubeconfig in this file. The texts are upstream's.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/util/webhook/webhook.go, LoadKubeconfig (v1.36.4).
pub fn target(path: &Path) -> Result<Target, String> {
    std::fs::metadata(path).map_err(|error| go_file::words("stat", path, &error))?;
    let data = go_file::read(path)
        .map_err(|error| format!("error loading config file \"{}\": {error}", path.display()))?;
    let unreadable = |problem: String| format!("error loading config file \"{}\": {problem}", path.display());
    let document = yaml::read(&data).map_err(|error| unreadable(error.to_string()))?;
    if !matches!(document.value.json_type(), "null" | "object") {
        let problem = config_file::Error::NoObject { found: document.value.json_type() };
        return Err(unreadable(problem.to_string()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    // Error messages contain absolute paths, as upstream's do.
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    Target::from_kubeconfig(&document.value, &folder).map_err(|error| error.to_string())
}
