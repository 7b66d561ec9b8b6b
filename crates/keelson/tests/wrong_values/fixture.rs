//! A folder with files that are valid, empty, garbage or missing, and the arguments that every case needs.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::Output;
use std::sync::Mutex;

use tempfile::TempDir;

use crate::cases::Outcome;

/// The folder that `$DIR` stands for.
pub(crate) struct Fixture {
    folder: TempDir,
}

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: a, user: {}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
";

const AUDIT_POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
rules: [{level: Metadata}]
";

/// A key for tests only.
const KEY: &str = include_str!("../../../authn/testdata/keys/p256.sec1.pem");

impl Fixture {
    pub(crate) fn new() -> Fixture {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        write("empty", "");
        write("garbage", "garbage\n");
        write("two-columns.csv", "a,b\n");
        write("kubeconfig", KUBECONFIG);
        write("audit-policy.yaml", AUDIT_POLICY);
        write("sa.key", KEY);
        std::fs::create_dir(folder.path().join("folder")).expect("a folder");
        Fixture { folder }
    }

    /// The path of the folder.
    pub(crate) fn folder(&self) -> String {
        self.folder.path().display().to_string()
    }

    /// The flags that every command line needs, except for those that the case sets itself.
    pub(crate) fn required(&self, words: &[String], port: u16) -> Vec<String> {
        let folder = self.folder();
        let all = [
            "--etcd-servers=http://127.0.0.1:1".to_owned(),
            "--service-account-issuer=https://issuer.example".to_owned(),
            format!("--service-account-key-file={folder}/sa.key"),
            format!("--service-account-signing-key-file={folder}/sa.key"),
            format!("--cert-dir={folder}/certificates-{port}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--advertise-address=10.9.8.7".to_owned(),
        ];
        let is_given = |flag: &str| {
            let name = flag.split_inclusive('=').next().unwrap_or(flag);
            words.iter().any(|word| word.starts_with(name))
        };
        all.into_iter().filter(|flag| !is_given(flag)).collect()
    }

    /// The result of a process, without parts that depend on the folder and the time.
    pub(crate) fn ended(&self, output: &Output, port: u16) -> Outcome {
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        let code = output.status.code().unwrap_or(-1);
        let said =
            if code == 0 { stdout.lines().next().unwrap_or_default().to_owned() } else { refusal(&stderr) };
        Outcome::Ends { code, text: self.normalised(&said, port) }
    }

    /// The text without the folder and the port.
    pub(crate) fn normalised(&self, text: &str, port: u16) -> String {
        let platform = |name: &str| format!("Platform:\"{name}\"");
        let own = platform(keelson_server::Version::KUBERNETES.platform);
        let text = text.replace(&self.folder(), "$DIR").replace(&own, &platform("linux/amd64"));
        text.replace(&format!(":{port}"), ":PORT")
    }
}

/// A port that was free a moment ago, and that this process has not handed out before.
pub(crate) fn free_port() -> u16 {
    static HANDED_OUT: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    loop {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        if HANDED_OUT.lock().expect("no thread has panicked").insert(port) {
            return port;
        }
    }
}

/// Whether another process has taken the port in the meantime.
pub(crate) fn lost_its_port(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Ends { text, .. } if text.contains("address already in use"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The line with `Error:`, the logged error, the fatal line or the panic.
fn refusal(stderr: &str) -> String {
    let mut lines = stderr.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("Error: ") || line.starts_with("panic: ") {
            return line.to_owned();
        }
        if let Some((_, logged)) = line.split_once("\"command failed\" err=") {
            if logged == "<" {
                let said: Vec<&str> = lines.take_while(|line| *line != " >").map(str::trim).collect();
                return format!("Error: {}", said.join("\n"));
            }
            return format!("Error: {}", unquoted(logged));
        }
        if let Some((head, fatal)) = line.split_once("] ")
            && head.starts_with('F')
            && head.len() > 20
        {
            return format!("Error: {fatal}");
        }
    }
    format!("nothing in {stderr}")
}

/// klog quotes as Go does, or prints several lines as `<` to `>`.
fn unquoted(logged: &str) -> String {
    let inner = logged.trim().trim_start_matches('"').trim_end_matches('"');
    inner.replace("\\\"", "\"").replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
}
