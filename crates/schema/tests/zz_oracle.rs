//! Temporary.
use keelson_codec::json;
use keelson_schema::Schema;
use std::collections::BTreeMap;

#[test]
fn oracle() {
    let Some(path) = std::env::var_os("ORACLE") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let mut bad: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut n = 0; let mut errs = 0;
    for line in text.lines() {
        let doc = json::read(line.as_bytes()).unwrap().value;
        let m = doc.as_map().unwrap();
        let get = |k: &str| m.str(k).unwrap_or_default();
        let schema = Schema::builtin(get("Group"), get("Version"), get("Kind")).unwrap();
        let input = get("In");
        let mut v = json::read(input.as_bytes()).unwrap().value;
        let res = schema.conform(&mut v);
        n += 1;
        let want_err = get("Err");
        let p = |v: &keelson_object::Value| String::from_utf8(json::to_bytes(v).to_vec()).unwrap();
        match res {
            Err(e) => {
                errs += 1;
                if e.to_string() != want_err {
                    bad.entry("err".into()).or_default().push(format!("got  {e}\nwant {want_err}\n{}", input.chars().take(300).collect::<String>()));
                }
            }
            Ok(unknown) => {
                if !want_err.is_empty() {
                    bad.entry("noerr".into()).or_default().push(format!("want {want_err}\n{}", input.chars().take(300).collect::<String>()));
                    continue;
                }
                let want: Vec<String> = m.list("Unknown").iter().map(|x| x.as_str().unwrap().to_owned()).collect();
                if want != unknown {
                    bad.entry("unknown".into()).or_default().push(format!("got {unknown:?}\nwant {want:?}"));
                }
                let (which, stored) = if get("Stored").is_empty() { ("plain", get("Out")) } else { ("stored", get("Stored")) };
                let want = p(&json::read(stored.as_bytes()).unwrap().value);
                let got = p(&v);
                if want != got {
                    let at = want.bytes().zip(got.bytes()).position(|(a, b)| a != b).unwrap_or(0);
                    let s = at.saturating_sub(150);
                    let cut = |t: &str| String::from_utf8_lossy(&t.as_bytes()[s.min(t.len())..(at + 100).min(t.len())]).into_owned();
                    bad.entry(format!("form {which}")).or_default().push(format!("{}\ngot  {}\nwant {}", get("Kind"), cut(&got), cut(&want)));
                }
            }
        }
    }
    println!("{n} cases, {errs} errors");
    for (k, v) in &bad {
        println!("== {k}: {}", v.len());
        for x in v.iter().step_by((v.len() / 12).max(1)) { println!("{x}\n"); }
    }
    assert!(bad.is_empty());
}
