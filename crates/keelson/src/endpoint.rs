//! Endpoints for people who look for a mistake: `/logs/`, `/debug/flags/v`.

mod debug_flags;
mod log_files;

use std::path::PathBuf;
use std::sync::Arc;

use keelson_server::{Endpoint, Mounted};

use crate::config::Config;
use debug_flags::DebugFlags;
use log_files::LogFiles;

/// Those that the flags ask for.
pub(crate) fn mounted(config: &Config) -> Vec<Mounted> {
    let mut mounted = Vec::new();
    if config.log_files {
        mounted.extend(at("/logs", LogFiles { folder: PathBuf::from("/var/log") }));
    }
    if config.profiling {
        mounted.extend(at("/debug/flags", DebugFlags));
    }
    mounted
}

/// An endpoint at a path and below it.
fn at(path: &str, endpoint: impl Endpoint + 'static) -> [Mounted; 2] {
    let endpoint: Arc<dyn Endpoint> = Arc::new(endpoint);
    [path.to_owned(), format!("{path}/")].map(|path| Mounted { path, endpoint: endpoint.clone() })
}
