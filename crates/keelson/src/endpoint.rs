//! Debugging endpoints: `/logs/`, `/debug/flags/v`, `/debug/pprof/`.

mod debug_flags;
mod log_files;
mod pprof;

use std::path::PathBuf;
use std::sync::Arc;

use keelson_server::{Endpoint, Mounted};
use keelson_stdx::clock::Clock;

use crate::config::Config;
use debug_flags::DebugFlags;
use log_files::LogFiles;
use pprof::Pprof;

/// The endpoints that the flags enable.
pub(crate) fn mounted(config: &Config, clock: &Clock) -> Vec<Mounted> {
    let mut mounted = Vec::new();
    if config.log_files {
        mounted.extend(at("/logs", LogFiles { folder: PathBuf::from("/var/log") }));
    }
    if config.profiling {
        mounted.extend(at("/debug/flags", DebugFlags));
        mounted.extend(at("/debug/pprof", Pprof { clock: clock.clone() }));
    }
    mounted
}

/// An endpoint at a path and below it.
fn at(path: &str, endpoint: impl Endpoint + 'static) -> [Mounted; 2] {
    let endpoint: Arc<dyn Endpoint> = Arc::new(endpoint);
    [path.to_owned(), format!("{path}/")].map(|path| Mounted { path, endpoint: endpoint.clone() })
}
