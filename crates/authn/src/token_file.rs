//! Users from a file of static tokens.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tracing::warn;

use crate::{AuthError, Authenticated, Outcome, TokenAuthenticator, User};

/// The tokens of `--token-auth-file`: one `token,user,uid,"group1,group2"` per line.
///
/// Upstream: staging/src/k8s.io/apiserver/pkg/authentication/token/tokenfile/tokenfile.go (v1.36.4).
pub struct TokenFile(HashMap<String, Arc<User>>);

impl TokenFile {
    /// Reads the text of the file.
    pub fn parse(text: &str) -> Result<TokenFile, AuthError> {
        let mut tokens = HashMap::new();
        for (index, record) in records(text)?.into_iter().enumerate() {
            let record_number = index + 1;
            let columns = record.len();
            let mut fields = record.into_iter();
            let (Some(token), Some(name), Some(uid)) = (fields.next(), fields.next(), fields.next()) else {
                let reason =
                    format!("must have at least 3 columns (token, user name, user uid), found {columns}");
                return Err(AuthError::BadTokenFile { record: record_number, reason });
            };
            if token.is_empty() {
                warn!(record = record_number, "empty token has been found in token file");
                continue;
            }
            let groups = fields.next().map_or_else(Vec::new, |it| it.split(',').map(str::to_owned).collect());
            let user = User { name, uid, groups, ..User::default() };
            if tokens.insert(token, Arc::new(user)).is_some() {
                warn!(record = record_number, "duplicate token has been found in token file");
            }
        }
        Ok(TokenFile(tokens))
    }
}

impl TokenAuthenticator for TokenFile {
    fn authenticate_token<'a>(&'a self, token: &'a str, _: &'a [String]) -> BoxFuture<'a, Outcome> {
        let known = self.0.get(token).cloned().map(Authenticated::new);
        std::future::ready(Ok(known)).boxed()
    }
}

/// CSV as Go's reader takes it: fields may be quoted, `""` is a quote in a quoted field, empty lines are left out.
fn records(text: &str) -> Result<Vec<Vec<String>>, AuthError> {
    let mut records: Vec<Vec<String>> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = strip_line_end(rest) {
            rest = after;
            continue;
        }
        let mut record = Vec::new();
        let bad =
            |reason: &str| AuthError::BadTokenFile { record: records.len() + 1, reason: reason.to_owned() };
        loop {
            let (field, after) = field(rest).map_err(bad)?;
            record.push(field);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => {
                    rest = strip_line_end(after).unwrap_or(after);
                    break;
                }
            }
        }
        records.push(record);
    }
    Ok(records)
}

/// One field and what comes after it: a comma, the end of the line, or nothing.
fn field(rest: &str) -> Result<(String, &str), &'static str> {
    let Some(mut quoted) = rest.strip_prefix('"') else {
        let end = rest.find([',', '\n']).unwrap_or(rest.len());
        let (value, after) = rest.split_at(end);
        if value.contains('"') {
            return Err("bare \" in non-quoted field");
        }
        return Ok((value.strip_suffix('\r').unwrap_or(value).to_owned(), after));
    };
    let mut value = String::new();
    loop {
        let end = quoted.find('"').ok_or("extraneous or missing \" in quoted-field")?;
        value.push_str(&quoted[..end]);
        quoted = &quoted[end + 1..];
        match quoted.strip_prefix('"') {
            Some(next) => {
                value.push('"');
                quoted = next;
            }
            None if quoted.is_empty() || quoted.starts_with(',') || strip_line_end(quoted).is_some() => {
                return Ok((value, quoted));
            }
            None => return Err("extraneous or missing \" in quoted-field"),
        }
    }
}

fn strip_line_end(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;
    use http::header::AUTHORIZATION;
    use http::{HeaderMap, HeaderValue};

    use super::TokenFile;
    use crate::{Authenticator, Bearer, Credentials};

    /// `expected` is `name uid group|group`, `nobody` or the error.
    #[track_caller]
    fn check(file: &str, token: &str, expected: &str) {
        let mut headers = HeaderMap::new();
        if !token.is_empty() {
            headers
                .insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).expect("a header"));
        }
        let credentials = Credentials { peer_certificates: &[], headers: &headers, path: "", audiences: &[] };
        let found = TokenFile::parse(file)
            .map(|it| Bearer::new(Arc::new(it), &[]))
            .and_then(|it| it.authenticate(&credentials).now_or_never().expect("nothing waits"));
        let text = match found {
            Ok(Some(it)) => format!("{} {} {}", it.user.name, it.user.uid, it.user.groups.join("|")),
            Ok(None) => "nobody".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn tokens_have_users_and_groups() {
        let file = "t1,jane,1\nt2,joe,2,\"dev,ops\"\r\n\nt3,\"a \"\"b\"\"\",3,g\n";
        check(file, "t1", "jane 1 ");
        check(file, "t2", "joe 2 dev|ops");
        check(file, "t3", "a \"b\" 3 g");
        check(file, "t4", "invalid bearer token");
        check(file, "", "nobody");
    }

    #[test]
    fn the_last_of_equal_tokens_counts_and_empty_ones_never() {
        check("t,jane,1\nt,joe,2", "t", "joe 2 ");
        check(",jane,1\nt,joe,2", "t", "joe 2 ");
    }

    #[test]
    fn malformed_files_are_refused() {
        let columns = "must have at least 3 columns (token, user name, user uid), found";
        check("t,jane", "t", &format!("token file, record 1: {columns} 2"));
        check("t,jane,1\nx", "t", &format!("token file, record 2: {columns} 1"));
        check("t,ja\"ne,1", "t", "token file, record 1: bare \" in non-quoted field");
        check("t,jane,1,\"a", "t", "token file, record 1: extraneous or missing \" in quoted-field");
        check("t,jane,1,\"a\"b", "t", "token file, record 1: extraneous or missing \" in quoted-field");
    }
}
