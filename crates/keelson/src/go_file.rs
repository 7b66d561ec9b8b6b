//! Files as Go opens them, with its error messages.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// The whole file, or `open FILE: no such file or directory`, `read FILE: is a directory` and so on.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut file = File::open(path).map_err(|error| words("open", path, &error))?;
    let mut data = Vec::new();
    file.read_to_end(&mut data).map_err(|error| words("read", path, &error))?;
    Ok(data)
}

/// Go's message for a failed operation on a file.
pub(crate) fn words(operation: &str, path: &Path, error: &io::Error) -> String {
    format!("{operation} {}: {}", path.display(), system_words(error))
}

/// The error of the system, without its number.
pub(crate) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn what_cannot_be_read_is_told_as_go_tells_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let shown = folder.path().display();
        assert_eq!(read(folder.path()), Err(format!("read {shown}: is a directory")));
        let missing = folder.path().join("missing");
        assert_eq!(read(&missing), Err(format!("open {shown}/missing: no such file or directory")));
    }
}
