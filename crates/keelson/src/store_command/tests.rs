//! Tests of export, import, snapshot and restore.

use std::path::{Path, PathBuf};

use keelson_stdx::clock::Clock;
use keelson_store::{At, Entry, Expect, Key, Page, Revision, Store, Write};
use keelson_store_mvcc::{MvccStore, Options};
use tempfile::TempDir;

use super::{Action, BUMP};
use crate::banner::report;
use crate::config::{Config, Environment};
use crate::flags::{Face, parse};

struct Fixture {
    folder: TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn open(&self, data: &str) -> MvccStore {
        let options = Options::new(self.path(data).join("store"), Clock::real());
        MvccStore::open(options).await.expect("a store")
    }

    /// A store with some objects, written in random order and more than once.
    async fn fill(&self, data: &str) -> Vec<Entry> {
        let store = self.open(data).await;
        for number in [5, 2, 9, 0, 7, 3] {
            let key = Key::from(format!("/registry/configmaps/default/c{number}"));
            let first = put(&store, &key, Expect::Absent, &format!("c{number}")).await;
            put(&store, &key, Expect::Unchanged(first), &format!("c{number}")).await;
        }
        let gone = Key::from("/registry/configmaps/default/c9");
        let last = store.get(&gone).await.expect("readable").expect("there").modified;
        store.commit(&gone, Expect::Unchanged(last), Write::Delete).await.expect("deleted");
        let page = all(&store).await;
        store.close().await;
        page.entries
    }

    async fn run(&self, data: &str, action: Action) -> Result<String, String> {
        let flags = parse(Face::Standalone, &[format!("--data-dir={}", self.path(data).display())]);
        let config = Config::new(&flags.expect("flags"), &Environment::default()).expect("a config");
        action.run(&config, &Clock::real()).await.map_err(|error| report(&error))
    }
}

async fn put(store: &MvccStore, key: &Key, expect: Expect, name: &str) -> Revision {
    let value = format!(r#"{{"kind":"ConfigMap","apiVersion":"v1","metadata":{{"name":"{name}"}}}}"#);
    store.commit(key, expect, Write::put(value)).await.expect("written")
}

async fn all(store: &MvccStore) -> Page {
    store.list(&Key::from("/"), None, usize::MAX, At::Latest).await.expect("a list")
}

fn exists(path: &Path) -> bool {
    path.exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_moved_with_all_its_revisions() {
    let fixture = Fixture::new();
    let entries = fixture.fill("old").await;
    let file = fixture.path("dump");
    let said = fixture.run("old", Action::Export(file.clone())).await;
    assert_eq!(said, Ok(format!("5 entries of revision 14 in {}\n", file.display())));
    fixture.run("new", Action::Import(file)).await.expect("imported");
    let store = fixture.open("new").await;
    let page = all(&store).await;
    assert_eq!((page.entries, page.revision.get()), (entries, 14));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_is_far_ahead() {
    let fixture = Fixture::new();
    let entries = fixture.fill("old").await;
    let file = fixture.path("snapshot");
    fixture.run("old", Action::Snapshot(file.clone())).await.expect("a snapshot");
    fixture.run("new", Action::Restore(file)).await.expect("restored");
    let store = fixture.open("new").await;
    let page = all(&store).await;
    assert_eq!((page.entries, page.revision.get()), (entries, 14 + BUMP));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_overwritten() {
    let fixture = Fixture::new();
    let entries = fixture.fill("old").await;
    let file = fixture.path("dump");
    fixture.run("old", Action::Export(file.clone())).await.expect("exported");
    let before = std::fs::read(&file).expect("a file");
    let refusal = fixture.run("old", Action::Export(file.clone())).await.expect_err("refused");
    assert!(refusal.contains("cannot write"), "{refusal}");
    assert_eq!(std::fs::read(&file).expect("a file"), before);
    for action in [Action::Import(file.clone()), Action::Restore(file)] {
        let refusal = fixture.run("old", action).await.expect_err("refused");
        assert!(refusal.contains("is there already"), "{refusal}");
    }
    let store = fixture.open("old").await;
    assert_eq!(all(&store).await.entries, entries);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_that_is_not_whole_makes_no_store() {
    let fixture = Fixture::new();
    fixture.fill("old").await;
    let file = fixture.path("dump");
    fixture.run("old", Action::Export(file.clone())).await.expect("exported");
    let whole = std::fs::read(&file).expect("a file");
    std::fs::write(&file, &whole[..whole.len() - 20]).expect("a file");
    let refusal = fixture.run("new", Action::Restore(file.clone())).await.expect_err("refused");
    assert!(refusal.contains("it is cut off behind entry"), "{refusal}");
    assert!(!exists(&fixture.path("new/store/store.redb")));
    let refusal = fixture.run("new", Action::Check(Some(file))).await.expect_err("refused");
    assert!(refusal.contains("it is cut off behind entry"), "{refusal}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_what_cannot_be_read() {
    let fixture = Fixture::new();
    fixture.fill("old").await;
    let said = fixture.run("old", Action::Check(None)).await.expect("good");
    assert!(said.contains("         5  configmaps\n"), "{said}");
    assert!(said.ends_with("everything can be read\n"), "{said}");
    let store = fixture.open("old").await;
    let key = Key::from("/registry/pods/default/bad");
    store.commit(&key, Expect::Absent, Write::put("not an object")).await.expect("written");
    let key = Key::from("/registry/secrets/default/hidden");
    store.commit(&key, Expect::Absent, Write::put("k8s:enc:aesgcm:v1:key:…")).await.expect("written");
    store.close().await;
    let said = fixture.run("old", Action::Check(None)).await.expect_err("bad");
    assert!(
        said.contains("/registry/pods/default/bad (revision 15): stored object is malformed at byte 0"),
        "{said}"
    );
    assert!(said.contains("         1  of them encrypted and not looked into"), "{said}");
    assert!(said.contains("1 entry cannot be read"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn there_must_be_a_store() {
    let fixture = Fixture::new();
    let refusal = fixture.run("none", Action::Export(fixture.path("dump"))).await.expect_err("refused");
    assert!(refusal.contains("there is no store"), "{refusal}");
    assert!(!exists(&fixture.path("dump")));
}
