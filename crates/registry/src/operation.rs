//! Operations: what clients do to resources.

mod act;
mod answer;
mod apply;
mod create;
mod create_permission;
mod delete;
mod delete_collection;
mod get;
mod list;
mod page;
mod scaled;
mod select;
mod update;
mod watch;
mod write;

pub use act::act;
pub use answer::answer;
pub use apply::apply;
pub use create::create;
pub use delete::{Deleted, IGNORE_READ_ERROR, delete, delete_unreadable};
pub use delete_collection::delete_collection;
pub use get::get;
pub use list::{Listing, list};
pub use update::{Updated, check_address, patch, update};
pub use watch::{Change, Watch, watch};
