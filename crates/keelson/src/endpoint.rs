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
        mount(&mut mounted, ["/logs", "/logs/"], Arc::new(LogFiles { folder: PathBuf::from("/var/log") }));
    }
    if config.profiling {
        mount(&mut mounted, ["/debug/flags", "/debug/flags/"], Arc::new(DebugFlags));
    }
    mounted
}

fn mount<const N: usize>(mounted: &mut Vec<Mounted>, paths: [&str; N], endpoint: Arc<dyn Endpoint>) {
    mounted.extend(paths.map(|path| Mounted { path: path.to_owned(), endpoint: endpoint.clone() }));
}
