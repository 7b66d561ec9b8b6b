//! The stream of a watch: one frame per change, as many as there are in one write.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt as _, Stream};
use keelson_object::Frozen;
use keelson_registry::Found;
use keelson_registry::operation::{Change, Watch};
use keelson_status::Status;
use keelson_watch_cache::EventKind;
use rand::RngExt as _;

use crate::builder::Server;
use crate::encode::CHUNK;
use crate::encode::frame::{self, InitialEnd};
use crate::encode::table::{Headings, Table};
use crate::metrics::{Counter, Gauge, Histogram, Series};
use crate::negotiate::MetaVersion;
use crate::respond;
use crate::shutdown::Pass;

/// How objects look in the frames.
pub(crate) enum Look {
    Object,
    Metadata(MetaVersion),
    Table(Box<Table>),
}

/// How the stream begins.
pub(crate) enum Beginning {
    Watch(Box<Watch>),
    /// With an ERROR frame, which is also its end.
    Failed(Box<Status>),
}

/// What a stream is made of.
pub(crate) struct Frames {
    pub(crate) server: Arc<Server>,
    pub(crate) found: Found,
    pub(crate) beginning: Beginning,
    pub(crate) look: Look,
    pub(crate) timeout: Duration,
    pub(crate) series: Arc<Series>,
}

/// The frames, until the time is up, the server ends, or the watch does.
pub(crate) fn frames(setup: Frames) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    let Frames { server, found, beginning, look, timeout, series } = setup;
    let clock = server.clock.clone();
    let end = async move {
        tokio::select! {
            () = clock.sleep(timeout) => {}
            () = server_ends(&server) => {}
        }
    };
    let (watch, failed) = match beginning {
        Beginning::Watch(watch) => (Some(watch), None),
        Beginning::Failed(status) => (None, Some(status)),
    };
    let state = State {
        watch,
        writer: Writer { look, counts: Counts::new(&setup_metrics(&found, &series)), found },
        end: Box::pin(end),
        failed,
    };
    futures_util::stream::unfold(state, |mut state| async move {
        let chunk = state.next_chunk().await?;
        Some((Ok(chunk), state))
    })
}

fn setup_metrics<'s>(found: &'s Found, series: &'s Arc<Series>) -> (&'s Found, &'s Arc<Series>) {
    (found, series)
}
