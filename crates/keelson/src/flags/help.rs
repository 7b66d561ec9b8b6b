//! `--help`: every section with its flags, in upstream's form.

use std::fmt::Write as _;

use super::{Face, Flag, Kind, Status};

/// The output of `--help`. `columns` is the width of the terminal; without one nothing is wrapped.
#[must_use]
pub fn help(face: Face, columns: Option<usize>) -> String {
    let mut out = String::new();
    let about = match face {
        Face::Standalone => {
            "Keelson is a Kubernetes API server in one binary. Without flags it serves on 127.0.0.1:6443, keeps its \
             objects, keys and certificates in its data folder and writes an admin.kubeconfig there."
        }
        Face::KubeApiserver => {
            "Serves the Kubernetes API: checks, stores and hands out the objects through which all components of a \
             cluster work together."
        }
    };
    wrap(&mut out, about, 0, columns.unwrap_or(80));
    let _ = writeln!(out, "\nUsage:\n  {} [flags]", face.program());
    for (title, flags) in face.sections() {
        let shown: Vec<&Flag> = flags.into_iter().filter(|flag| !flag.hidden).collect();
        if !shown.is_empty() {
            let _ = writeln!(out, "\n{title} flags:\n");
            write_flags(&mut out, &shown, columns);
        }
    }
    out
}

fn write_flags(out: &mut String, flags: &[&Flag], columns: Option<usize>) {
    let names: Vec<String> = flags.iter().map(|flag| name_and_type(flag)).collect();
    let indent = names.iter().map(String::len).max().unwrap_or(0) + 3;
    for (flag, name) in flags.iter().zip(&names) {
        let _ = write!(out, "{name:<indent$}");
        let text = format!("{}{}{}", flag.help, default_note(flag), deprecation_note(flag));
        match columns {
            // A narrow terminal wraps the text itself.
            Some(columns) if columns > indent + 24 => wrap(out, &text, indent, columns),
            _ => {
                let _ = writeln!(out, "{text}");
            }
        }
    }
}

/// `  -v, --v Level`
fn name_and_type(flag: &Flag) -> String {
    let short = flag.short.map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let kind = type_name(flag.kind);
    let space = if kind.is_empty() { "" } else { " " };
    format!("  {short}--{}{space}{kind}", flag.name)
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "",
        Kind::Int => "int",
        Kind::Uint => "uint",
        Kind::Float => "float",
        Kind::Float32 => "float32",
        Kind::Duration => "duration",
        Kind::Ip => "ip",
        Kind::Text => "string",
        Kind::List => "strings",
        Kind::Array => "stringArray",
        Kind::Map | Kind::Settings => "mapStringString",
        Kind::Gates => "colonSeparatedMultimapStringString",
        Kind::CertKeys => "namedCertKey",
        Kind::PortRange => "portRange",
        Kind::Quantity => "quantity",
        Kind::Level => "Level",
        Kind::Modules => "pattern=N,...",
        Kind::Version => "version[=true]",
        Kind::LabelMap => "stringToString",
        Kind::Int32List => "int32Slice",
    }
}

/// Zero values are not printed, except for the kinds whose zero upstream prints.
fn default_note(flag: &Flag) -> String {
    match (flag.kind, flag.default) {
        (Kind::CertKeys | Kind::LabelMap | Kind::Int32List, "") => " (default [])".to_owned(),
        (Kind::Version, _) | (_, "") => String::new(),
        (Kind::Text, text) => format!(" (default \"{text}\")"),
        (Kind::List | Kind::Array, items) => format!(" (default [{items}])"),
        (_, value) => format!(" (default {value})"),
    }
}

fn deprecation_note(flag: &Flag) -> String {
    match flag.status {
        Status::Deprecated(message) => format!(" (DEPRECATED: {message})"),
        Status::Acts | Status::NotYet => String::new(),
    }
}

/// Writes words in lines of at most `columns`; lines after the first begin with `indent` spaces.
fn wrap(out: &mut String, text: &str, indent: usize, columns: usize) {
    let mut column = indent;
    let mut is_first = true;
    for word in text.split(' ') {
        let length = word.chars().count();
        if !is_first && column + 1 + length > columns {
            let _ = write!(out, "\n{:indent$}", "");
            column = indent;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        is_first = false;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::{Face, help};

    #[test]
    fn lines_fit_the_terminal() {
        for face in [Face::Standalone, Face::KubeApiserver] {
            for columns in [120, 160, 240] {
                let text = help(face, Some(columns));
                let longest = text.lines().map(str::len).max().expect("some lines");
                assert!(longest <= columns, "a line of {longest} in {columns} columns");
            }
        }
    }

    #[test]
    fn the_insecure_port_is_not_listed() {
        // Test environments look for it to detect old servers.
        let is_insecure_port = |line: &str| line.trim_start().starts_with("--insecure-port");
        assert!(!help(Face::KubeApiserver, None).lines().any(is_insecure_port));
    }

    #[test]
    fn our_own_flags_come_first() {
        let text = help(Face::Standalone, None);
        let (own, rest) = text.split_once("\nGeneric flags:\n").expect("upstream's first section");
        assert!(own.contains("--data-dir string"));
        assert!(own.contains("--bind-address ip") && own.contains("(default 127.0.0.1)"));
        assert!(!rest.contains("--bind-address ip"), "a flag is listed once");
    }

    #[test]
    fn the_other_face_does_not_list_them() {
        let text = help(Face::KubeApiserver, None);
        assert!(!text.contains("--data-dir"));
        assert!(text.contains("--bind-address ip") && text.contains("(default 0.0.0.0)"));
    }
}
