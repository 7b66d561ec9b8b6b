//! Default classes: finds the class for objects that name none.

use keelson_object::SmolStr;
use keelson_registry::{Live, Result};
use memchr::memmem;

/// The newest class with `true` in one of these annotations; of several the first by name.
///
/// Upstream: pkg/volume/util/storageclass.go, GetDefaultClass (v1.36.4).
pub(crate) async fn newest(classes: &Live, annotations: &[&str]) -> Result<Option<SmolStr>> {
    let snapshot = classes.cache()?.at_hand().await;
    let mut best = None;
    for (_, frozen) in snapshot.iter() {
        let json = frozen.metadata_json();
        if !annotations.iter().any(|it| memmem::find(json, it.as_bytes()).is_some()) {
            continue;
        }
        let meta = classes.thaw(frozen)?.meta;
        if annotations.iter().all(|it| meta.annotations.get(it) != Some("true")) {
            continue;
        }
        let made = meta.creation_timestamp.map_or(0, |it| it.unix());
        // They come in the order of their names.
        if best.as_ref().is_none_or(|(newest, _)| made > *newest) {
            best = Some((made, meta.name));
        }
    }
    Ok(best.map(|(_, name)| name))
}
