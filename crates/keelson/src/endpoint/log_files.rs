//! `/logs/`: the log files of the machine, behind `--enable-logs-handler`.
//!
//! Upstream: pkg/routes/logs.go (v1.36.4), which serves them with Go's net/http, ServeFile.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, header};
use keelson_server::response::{text_error, with_type};
use keelson_server::{Body, Endpoint, Error, Response, refuse};
use tokio::fs::{self, File};
use tokio::io::AsyncReadExt as _;

/// The size of the pieces in which a file is read.
const CHUNK: usize = 64 << 10;

/// The limit of names in a listing; more would be one huge response.
const MAX_NAMES: usize = 100_000;

/// The number of bytes by which the type of a file is detected.
const SNIFFED: usize = 512;

/// The files of a folder and of those below it.
pub(super) struct LogFiles {
    pub(super) folder: PathBuf,
}

impl Endpoint for LogFiles {
    fn answer<'a>(&'a self, path: &'a str, parts: &'a Parts) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            if parts.method != Method::GET {
                return refuse(Error::MethodNotAllowed, parts);
            }
            self.serve(path, parts).await.unwrap_or_else(|error| failed(&error))
        })
    }

    fn is_listed(&self, path: &str) -> bool {
        path == "/logs"
    }
}

impl LogFiles {
    async fn serve(&self, path: &str, parts: &Parts) -> io::Result<Response> {
        let below = Path::new(path.strip_prefix("/logs").unwrap_or_default().trim_matches('/'));
        // A name that leads out of the folder is rejected before the file is opened.
        if below.components().any(|it| matches!(it, Component::ParentDir)) {
            return Ok(text_error(StatusCode::BAD_REQUEST, "invalid URL path"));
        }
        if path.ends_with("/index.html") {
            return Ok(redirect("./", parts));
        }
        let file = self.folder.join(below);
        let metadata = fs::metadata(&file).await?;
        if !metadata.is_dir() {
            return content(&file, parts).await;
        }
        if !path.ends_with('/') {
            let name = path.rsplit('/').next().unwrap_or_default();
            return Ok(redirect(&format!("{name}/"), parts));
        }
        let index = file.join("index.html");
        if fs::metadata(&index).await.is_ok() {
            return content(&index, parts).await;
        }
        if is_unchanged(&metadata, parts) {
            return Ok(not_modified(&metadata));
        }
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        Ok(modified(&metadata, with_type(StatusCode::OK, html, Body::full(listing(&file).await?))))
    }
}

/// The content of a file, in pieces.
async fn content(path: &Path, parts: &Parts) -> io::Result<Response> {
    // Pipes and devices would never end, or not even open.
    if !fs::metadata(path).await?.is_file() {
        return Err(ErrorKind::NotFound.into());
    }
    let mut file = File::open(path).await?;
    let metadata = file.metadata().await?;
    if is_unchanged(&metadata, parts) {
        return Ok(not_modified(&metadata));
    }
    let mut start = Vec::with_capacity(SNIFFED);
    (&mut file).take(SNIFFED as u64).read_to_end(&mut start).await?;
    let media_type = HeaderValue::from_static(media_type(path, &start));
    // A log grows: lines written after the Content-Length was sent are left out.
    let left = metadata.len().saturating_sub(start.len() as u64);
    let rest = stream::try_unfold((file, left), |(mut file, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let mut chunk = Vec::with_capacity(CHUNK.min(usize::try_from(left).unwrap_or(CHUNK)));
        let read = (&mut file).take(left.min(CHUNK as u64)).read_to_end(&mut chunk).await?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(Some((Bytes::from(chunk), (file, left - read as u64))))
    });
    let length = left + start.len() as u64;
    let start = stream::once(std::future::ready(Ok(Bytes::from(start))));
    let body = Body::stream(futures_util::StreamExt::chain(start, rest));
    let mut response = modified(&metadata, with_type(StatusCode::OK, media_type, body));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

/// The names in a folder; folders among them end in a slash.
async fn listing(folder: &Path) -> io::Result<String> {
    let (mut entries, mut names) = (fs::read_dir(folder).await?, Vec::new());
    while let Some(entry) = entries.next_entry().await? {
        let slash = if entry.file_type().await?.is_dir() { "/" } else { "" };
        names.push(format!("{}{slash}", entry.file_name().to_string_lossy()));
        if names.len() == MAX_NAMES {
            break;
        }
    }
    names.sort_unstable();
    let lines: String =
        names.iter().map(|it| format!("<a href=\"{}\">{}</a>\n", link(it), escaped(it))).collect();
    Ok(format!(
        "<!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n{lines}</pre>\n"
    ))
}

/// A name as a relative URL.
fn link(name: &str) -> String {
    let mut link = String::with_capacity(name.len());
    // Otherwise the text before the colon would be a scheme.
    if name.split('/').next().is_some_and(|it| it.contains(':')) {
        link.push_str("./");
    }
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => link.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b'/' | b':' | b'=' | b'@' => {
                link.push(char::from(byte))
            }
            _ => link.push_str(&format!("%{byte:02X}")),
        }
    }
    link
}

/// A name, escaped for HTML.
fn escaped(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for char in name.chars() {
        match char {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&#34;"),
            '\'' => text.push_str("&#39;"),
            other => text.push(other),
        }
    }
    text
}

/// The media type of a file, by its name or by its first bytes.
fn media_type(path: &Path, start: &[u8]) -> &'static str {
    match path.extension().and_then(|it| it.to_str()).unwrap_or_default() {
        "html" | "htm" => "text/html; charset=utf-8",
        "json" => "application/json",
        "xml" => "text/xml; charset=utf-8",
        _ if start.starts_with(b"\x1f\x8b\x08") => "application/x-gzip",
        _ if start.iter().any(|it| matches!(it, 0..=8 | 11 | 14..=26 | 28..=31)) => {
            "application/octet-stream"
        }
        _ => "text/plain; charset=utf-8",
    }
}

fn redirect(to: &str, parts: &Parts) -> Response {
    let query = parts.uri.query().map_or_else(String::new, |it| format!("?{it}"));
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(location) = HeaderValue::try_from(format!("{to}{query}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

fn modified(metadata: &Metadata, mut response: Response) -> Response {
    if let Some(time) = http_time(metadata) {
        response.headers_mut().insert(header::LAST_MODIFIED, time);
    }
    response
}

fn not_modified(metadata: &Metadata) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    modified(metadata, response)
}

/// Whether the client has the current file: If-Modified-Since equals its Last-Modified.
fn is_unchanged(metadata: &Metadata, parts: &Parts) -> bool {
    const SINCE: HeaderName = header::IF_MODIFIED_SINCE;
    parts.headers.get(SINCE).is_some_and(|since| http_time(metadata).as_ref() == Some(since))
}

/// `Mon, 16 Nov 2026 18:31:11 GMT`.
fn http_time(metadata: &Metadata) -> Option<HeaderValue> {
    let time = jiff::Timestamp::try_from(metadata.modified().ok()?).ok()?;
    HeaderValue::try_from(time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).ok()
}

/// Upstream: Go's net/http, toHTTPError.
fn failed(error: &io::Error) -> Response {
    match error.kind() {
        ErrorKind::NotFound => text_error(StatusCode::NOT_FOUND, "404 page not found"),
        ErrorKind::InvalidFilename => text_error(StatusCode::NOT_FOUND, "file not found"),
        ErrorKind::PermissionDenied => text_error(StatusCode::FORBIDDEN, "403 Forbidden"),
        _ => text_error(StatusCode::INTERNAL_SERVER_ERROR, "500 Internal Server Error"),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::TryStreamExt as _;
    use http::{Request, Response, header};
    use http_body_util::{BodyDataStream, BodyExt as _};
    use keelson_server::{Body, Endpoint as _};

    use super::{CHUNK, LogFiles};

    struct Fixture {
        _parent: tempfile::TempDir,
        files: LogFiles,
    }

    fn fixture() -> Fixture {
        let parent = tempfile::tempdir().expect("a folder");
        std::fs::write(parent.path().join("secret"), "secret").expect("a file");
        let folder = parent.path().join("log");
        std::fs::create_dir_all(folder.join("apt")).expect("a folder");
        std::fs::write(folder.join("a b&c:d.log"), "line\n").expect("a file");
        std::fs::write(folder.join("binary"), "a\0b".repeat(CHUNK)).expect("a file");
        Fixture { _parent: parent, files: LogFiles { folder } }
    }

    async fn ask(fixture: &Fixture, request: &str) -> Response<Body> {
        let (method, path) = request.split_once(' ').expect("a method and a path");
        let builder = Request::builder().method(method).uri(path.replace(' ', "%20"));
        let (parts, ()) = builder.body(()).expect("a request").into_parts();
        fixture.files.answer(path, &parts).await
    }

    async fn check(fixture: &Fixture, request: &str, expected: &str) {
        let answer = ask(fixture, request).await;
        let code = answer.status().as_u16();
        let location = answer.headers().get(header::LOCATION).map(|it| format!("to {it:?}"));
        let body = answer.into_body().collect().await.expect("a body").to_bytes();
        let found = location.unwrap_or_else(|| String::from_utf8_lossy(&body).into_owned());
        assert_eq!(format!("{code} {found}"), expected, "{request}");
    }

    #[tokio::test]
    async fn folders_are_listed_and_nothing_outside_is_served() {
        let fixture = fixture();
        check(
            &fixture,
            "GET /logs/",
            "200 <!doctype html>\n<meta name=\"viewport\" content=\"width=device-width\">\n<pre>\n\
             <a href=\"./a%20b&c:d.log\">a b&amp;c:d.log</a>\n<a href=\"apt/\">apt/</a>\n\
             <a href=\"binary\">binary</a>\n</pre>\n",
        )
        .await;
        check(&fixture, "GET /logs", "301 to \"logs/\"").await;
        check(&fixture, "GET /logs/apt", "301 to \"apt/\"").await;
        check(&fixture, "GET /logs/a b&c:d.log", "200 line\n").await;
        check(&fixture, "GET /logs//a b&c:d.log", "200 line\n").await;
        for path in ["/logs/../secret", "/logs/apt/../../secret", "/logs/..", "/logs//../secret"] {
            check(&fixture, &format!("GET {path}"), "400 invalid URL path\n").await;
        }
        check(&fixture, "GET /logs//etc/passwd", "404 404 page not found\n").await;
        check(&fixture, "GET /logs/nothing", "404 404 page not found\n").await;
        check(&fixture, &format!("GET /logs/{}", "x".repeat(300)), "404 file not found\n").await;
        assert_eq!(ask(&fixture, "HEAD /logs/").await.status(), 405);
        assert_eq!(ask(&fixture, "POST /logs/").await.status(), 405);
    }

    #[tokio::test]
    async fn files_come_in_pieces() {
        let fixture = fixture();
        let answer = ask(&fixture, "GET /logs/binary").await;
        assert_eq!(answer.headers()["content-type"], "application/octet-stream");
        assert_eq!(answer.headers()["content-length"], (3 * CHUNK).to_string());
        let pieces: Vec<_> = BodyDataStream::new(answer.into_body()).try_collect().await.expect("pieces");
        assert!(pieces.iter().all(|it| it.len() <= CHUNK));
        assert_eq!(pieces.concat(), "a\0b".repeat(CHUNK).into_bytes());
    }
}
