//! `/version`: the version of the server.

use std::borrow::Cow;

use bytes::Bytes;

/// The content of `/version`. Clients look at the version of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// `1`
    pub major: &'static str,
    /// `36`
    pub minor: &'static str,
    /// The emulated major version.
    pub emulation_major: &'static str,
    /// The emulated minor version.
    pub emulation_minor: Cow<'static, str>,
    /// The oldest compatible major version.
    pub min_compatibility_major: &'static str,
    /// The oldest compatible minor version.
    pub min_compatibility_minor: Cow<'static, str>,
    /// `v1.36.4`
    pub git_version: Cow<'static, str>,
    /// The commit it was built from.
    pub git_commit: &'static str,
    /// `clean` or `dirty`.
    pub git_tree_state: &'static str,
    /// The time of the build.
    pub build_date: &'static str,
    /// The compiler version; the field is called so for clients written for Go.
    pub go_version: &'static str,
    /// The compiler.
    pub compiler: &'static str,
    /// `linux/amd64`
    pub platform: &'static str,
}

impl Version {
    /// The version of the API that is served.
    pub const KUBERNETES: Version = Version {
        major: "1",
        minor: "36",
        emulation_major: "1",
        emulation_minor: Cow::Borrowed("36"),
        min_compatibility_major: "1",
        min_compatibility_minor: Cow::Borrowed("35"),
        git_version: Cow::Borrowed("v1.36.4"),
        git_commit: "",
        git_tree_state: "clean",
        build_date: "1970-01-01T00:00:00Z",
        go_version: "none",
        compiler: "rustc",
        platform: platform(),
    };

    /// The document.
    pub fn to_json(&self) -> Bytes {
        let fields = [
            ("major", self.major),
            ("minor", self.minor),
            ("emulationMajor", self.emulation_major),
            ("emulationMinor", &self.emulation_minor),
            ("minCompatibilityMajor", self.min_compatibility_major),
            ("minCompatibilityMinor", &self.min_compatibility_minor),
            ("gitVersion", &self.git_version),
            ("gitCommit", self.git_commit),
            ("gitTreeState", self.git_tree_state),
            ("buildDate", self.build_date),
            ("goVersion", self.go_version),
            ("compiler", self.compiler),
            ("platform", self.platform),
        ];
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("  \"{name}\": \"{value}\"")).collect();
        Bytes::from(format!("{{\n{}\n}}", lines.join(",\n")))
    }
}

const fn platform() -> &'static str {
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        "linux/amd64"
    } else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
        "linux/arm64"
    } else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
        "darwin/arm64"
    } else if cfg!(all(target_os = "macos", target_arch = "x86_64")) {
        "darwin/amd64"
    } else {
        std::env::consts::OS
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn the_document_is_indented_json() {
        let text = String::from_utf8(Version::KUBERNETES.to_json().to_vec()).unwrap();
        assert!(text.starts_with("{\n  \"major\": \"1\",\n  \"minor\": \"36\",\n"), "{text}");
        assert!(text.contains("\n  \"gitVersion\": \"v1.36.4\",\n"));
        assert!(text.ends_with("\"\n}"));
    }
}
