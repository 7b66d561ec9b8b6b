//! Acting as somebody else. Not offered yet: who asks for it is told so, because to ignore the wish would be to act
//! with the wrong rights.

use http::HeaderMap;

use crate::error::{Error, Result};

/// Refuses a request that wants to act as somebody else.
pub(crate) fn refuse(headers: &HeaderMap) -> Result<()> {
    let wish = headers.keys().find(|name| name.as_str().starts_with("impersonate-"));
    match wish {
        None => Ok(()),
        Some(_) => Err(Error::Forbidden {
            resource: keelson_object::GroupResource::new("", ""),
            name: String::new(),
            message: "forbidden: impersonation is not supported by this server".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::refuse;

    #[test]
    fn nobody_acts_as_somebody_else() {
        let mut headers = HeaderMap::new();
        assert!(refuse(&headers).is_ok());
        headers.insert("impersonate-extra-scopes", "x".parse().unwrap());
        assert!(refuse(&headers).is_err());
    }
}
