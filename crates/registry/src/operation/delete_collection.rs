//! Delete collection: removes every object that a list would show.

use crate::context::Context;
use crate::error::{Error, Result};
use crate::live::{Live, Place};
use crate::operation::delete::remove;
use crate::operation::list::{Listing, list};
use crate::options::{DeleteOptions, ListOptions};

/// Deletes what `options` selects in `namespace` and gives it as it was before.
///
/// Not atomic: an error may leave some objects deleted.
pub async fn delete_collection(
    live: &Live,
    context: &Context,
    namespace: &str,
    options: &ListOptions,
    how: &DeleteOptions,
) -> Result<Listing> {
    let listing = list(live, namespace, options).await?;
    // Admission sees each object, and a request without a name.
    let shown = Place::new(namespace, "");
    for item in &listing.items {
        let index = item.index();
        let place = Place::new(index.namespace.clone(), index.name.clone());
        match remove(live, context, &place, &shown, how).await {
            Ok(_) | Err(Error::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(listing)
}
