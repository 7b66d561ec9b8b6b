//! temporary
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keelson_codec::{json, yaml};
use std::io::{BufRead, Write};
fn sorted(v: &mut keelson_object::Value) {
    match v {
        keelson_object::Value::List(items) => items.iter_mut().for_each(sorted),
        keelson_object::Value::Map(m) => { m.sort_keys(); for (_, v) in m.iter_mut() { sorted(v) } }
        _ => {}
    }
}
fn main() {
    let stdin = std::io::stdin();
    let mut out = std::io::BufWriter::new(std::io::stdout());
    for line in stdin.lock().lines() {
        let line = line.unwrap();
        let (mode, data) = line.split_once(' ').unwrap_or((&line, ""));
        let data = STANDARD.decode(data.trim()).unwrap();
        let res = match mode {
            "json" => match json::read(&data) {
                Ok(mut d) => {
                    sorted(&mut d.value);
                    let mut s = format!("OK {}", String::from_utf8(json::to_bytes(&d.value).to_vec()).unwrap());
                    for p in &d.duplicates { s += &format!("\nduplicate field {}", keelson_object::scalar::quote(p)); }
                    s
                }
                Err(e) => format!("ERR {} @{}", e, match &e { json::Error::Number{..} => 0, json::Error::End{offset} => *offset, _ => e.offset().min(data.len()-1) + 1 }),
            },
            "yaml" => match yaml::read(&data) {
                Ok(mut d) => {
                    sorted(&mut d.value);
                    let mut s = format!("OK {}", String::from_utf8(json::to_bytes(&d.value).to_vec()).unwrap());
                    if let Some(p) = d.strict_problem() { s += &format!("\n{p}"); }
                    s
                }
                Err(e) => format!("ERR {e}"),
            },
            "toyaml" => match json::read(&data) {
                Ok(d) => format!("OK {}", yaml::to_text(&d.value)),
                Err(e) => format!("ERR {e}"),
            },
            _ => String::new(),
        };
        writeln!(out, "{}", STANDARD.encode(res)).unwrap();
    }
}
