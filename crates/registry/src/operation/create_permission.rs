//! Create permission: a PUT or a server-side apply that finds no object creates one, so it needs the verb `create`.
//!
//! The request itself was authorized as `update` or `patch`. The second check comes when the new object is known to be
//! valid and before validating admission. Its decision holds for the whole request, also when the write is retried.

use keelson_authz::{Attributes, Selectors, Verdict, deny_reason};
use keelson_status::Status;
use tokio::sync::OnceCell;

use crate::admission::Request;
use crate::error::{Error, Result};

const CREATE: &str = "create";

/// The decision whether a request may create what it did not find.
#[derive(Default)]
pub(super) struct CreatePermission {
    verdict: OnceCell<Verdict>,
}

impl CreatePermission {
    /// Refuses a request that may not create the object at its place.
    ///
    /// Upstream: apiserver/pkg/endpoints/handlers/update.go, withAuthorization (v1.36.4).
    pub(super) async fn check(&self, request: &Request<'_>) -> Result<()> {
        let context = request.context;
        let target = request.target();
        let verdict = self.verdict.get_or_init(|| context.authorize(CREATE, target)).await;
        // An evaluation error does not take away what another rule allows.
        if verdict.decision.is_allowed() {
            return Ok(());
        }
        if let Some(error) = &verdict.error {
            return Err(Error::Rejected(Box::new(Status::internal_error(&error.to_string()))));
        }
        let (user, selectors) = (context.subject(), Selectors::default());
        let attributes = Attributes { user, verb: CREATE, target, path: "", selectors };
        Err(Error::Forbidden {
            resource: request.resource.group_resource(),
            name: request.place.name.to_string(),
            reason: deny_reason(&attributes, verdict.decision.reason()),
        })
    }
}
