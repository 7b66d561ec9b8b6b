//! Packs what upstream says about types and fields, for `openapi::descriptions`.
//!
//! The sentences are upstream's and not in this repository: they are read from the sources of the crate
//! `k8s-openapi`, which is locked and never compiled for this. Each of its files names its type in the first line and
//! has a JSON schema at its end, whose lines are indented by what they belong to:
//!
//! ```text
//! // Generated from definition io.k8s.api.apps.v1.DeploymentStrategy
//! …
//!             "description": "DeploymentStrategy describes …",           12 blanks: the type
//!             "properties": {
//!                 "rollingUpdate": ({                                     16 blanks: a field
//!                     …insert("description".into(), "Rolling …".into());  20 blanks: its description,
//!                 "type": {
//!                     "description": "Type of deployment. …",             or in this form
//! ```
//!
//! The result is deflated text: every sentence once, ended by a zero byte; another zero byte; then a line per type,
//! sorted by name, with the numbers of its sentences: `io.k8s….DeploymentStrategy 7 rollingUpdate=8 type=9`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate, and its folder for the level that is served.
const CRATE: &str = "k8s-openapi";
const LEVEL: &str = "src/v1_36";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let mut types = BTreeMap::new();
    match source() {
        Some(folder) => read_folder(&folder, &mut types)?,
        None => {
            // A file that is not there: the next build tries again.
            println!("cargo::rerun-if-changed=sources-of-{CRATE}");
            println!("cargo::warning=no sources of {CRATE}: OpenAPI documents will have no descriptions");
        }
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to write"));
    std::fs::write(out.join("descriptions"), deflated(&packed(&types))?)
}

/// What is said about a type: about itself under the empty name, about its fields under theirs.
type Sentences = BTreeMap<String, String>;

/// The folder of the locked crate's sources, which cargo knows and fetches if need be.
fn source() -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO")?;
    let ask = |more: &[&str]| {
        let mut command = Command::new(&cargo);
        command.args(["metadata", "--format-version", "1", "--locked"]).args(more);
        let output = command.current_dir(std::env::var_os("CARGO_MANIFEST_DIR")?).output().ok()?;
        output.status.success().then_some(String::from_utf8(output.stdout).ok()?)
    };
    let text = ask(&["--offline"]).or_else(|| ask(&[]))?;
    let (_, after) = text.split_once(&format!("\"name\":\"{CRATE}\",\"version\":"))?;
    let (_, path) = after.split_once("\"manifest_path\":\"")?;
    let manifest = path.split('"').next()?.replace("\\\\", "\\");
    Some(Path::new(&manifest).parent()?.join(LEVEL)).filter(|it| it.is_dir())
}

fn read_folder(folder: &Path, types: &mut BTreeMap<String, Sentences>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_folder(&path, types)?;
        } else if let Some((name, sentences)) = read(&std::fs::read_to_string(&path)?) {
            types.insert(name, sentences);
        }
    }
    Ok(())
}

/// The name of the type that a file defines, and what is said about it.
fn read(file: &str) -> Option<(String, Sentences)> {
    let name = file.lines().next()?.strip_prefix("// Generated from definition ")?;
    let (_, schema) = file.split_once("fn json_schema(")?;
    let (mut sentences, mut field) = (Sentences::new(), String::new());
    for line in schema.lines() {
        let inner = line.trim_start();
        match line.len() - inner.len() {
            16 => {
                field = inner.strip_prefix('"').and_then(|it| it.split('"').next()).unwrap_or("").to_owned()
            }
            indent @ (12 | 20) => {
                let owner = if indent == 12 { "" } else { &field };
                let text = inner
                    .strip_prefix("\"description\": ")
                    .or_else(|| inner.split_once(".insert(\"description\".into(), ").map(|it| it.1));
                if let Some(text) = text.and_then(literal) {
                    sentences.insert(owner.to_owned(), text);
                }
            }
            _ => {}
        }
    }
    Some((name.to_owned(), sentences))
}

/// The value of the literal that `text` begins with.
fn literal(text: &str) -> Option<String> {
    let mut letters = text.strip_prefix('"')?.chars();
    let mut value = String::new();
    loop {
        match letters.next()? {
            '"' => return Some(value),
            '\\' => match letters.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                'u' => {
                    let digits: String = letters.by_ref().skip(1).take_while(|it| *it != '}').collect();
                    value.push(char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
                }
                other => value.push(other),
            },
            letter => value.push(letter),
        }
    }
}

fn packed(types: &BTreeMap<String, Sentences>) -> String {
    let (mut texts, mut lines) = (String::new(), String::new());
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for (name, sentences) in types {
        lines.push_str(name);
        for (field, text) in sentences {
            let next = numbers.len();
            let number = *numbers.entry(text).or_insert_with(|| {
                texts.push_str(text);
                texts.push('\0');
                next
            });
            let equals = if field.is_empty() { "" } else { "=" };
            let _ = write!(lines, " {field}{equals}{number}");
        }
        lines.push('\n');
    }
    format!("{texts}\0{lines}")
}

fn deflated(text: &str) -> io::Result<Vec<u8>> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()
}
