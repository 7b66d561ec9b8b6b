//! Authorization matrices: upstream's decisions and reasons. One row for each subject, one letter for each
//! request.
//!
//! ```yaml
//! about: what is tried
//! modes: Node,RBAC                                 # as of --authorization-mode
//! with: [rules]                                    # objects, policies and webhook of that file, too
//! objects: [{kind: ClusterRole, …}]                # beside the roles of every cluster
//! policies: [{user: jane}, …]                      # the lines of a policy file, for ABAC
//! webhook: [{user: jane, say: deny}, …]            # the webhook's answers; the first matching row counts
//! review: v1                                       # the version of reviews; else upstream's default
//! on_failure: Deny                                 # with an AuthorizationConfiguration and not with flags
//! requests:
//! - get deployments.apps/scale in:web name:front   # verb, resource[.group][/subresource], namespace, name
//! - list pods fields:spec.nodeName=one
//! - get /healthz
//! subjects:
//! - {user: jane, groups: [dev]}
//! answers:
//! - "y-"                                           # jane: y is allow, - is no opinion, n is deny
//! reasons: ["", "No policy matched."]
//! why:
//! - "0 1"                                          # jane: the reason of each answer; 3x0 is 0 0 0, 1|2 is either
//! ```

mod cells;
mod hook;
mod ours;
mod question;
mod stage;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use keelson_authz::{Authorizer, Decision, Verdict};
use keelson_codec::{json, yaml};
use keelson_testkit::Client;
use serde_json::Value;

pub use cells::Cell;
use cells::Table;
pub use hook::Hook;
pub use question::{Request, Who};
pub use stage::Stage;

/// One matrix file.
pub struct Matrix {
    path: PathBuf,
    text: String,
    /// The value of `--authorization-mode`.
    pub modes: String,
    /// Objects in the form of the API.
    objects: Vec<Value>,
    policies: Vec<Value>,
    webhook: Vec<Value>,
    review: Option<String>,
    on_failure: Option<String>,
    requests: Vec<Request>,
    subjects: Vec<Who>,
    answers: Table,
}

/// How often a server gets the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Once.
    Once,
    /// Until all possible reasons were seen, where there may be several: upstream evaluates bindings in no
    /// particular order.
    Often,
}

const OFTEN: usize = 20;

impl Matrix {
    /// All matrix files.
    pub fn all() -> Result<Vec<Matrix>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/authz/testdata/matrix");
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).context("the matrices")? {
            paths.push(entry?.path());
        }
        paths.sort();
        paths.into_iter().map(Matrix::load).collect()
    }

    fn load(path: PathBuf) -> Result<Matrix> {
        let (text, file) = read(&path)?;
        let text_at = |key: &str| file[key].as_str().map(String::from);
        let requests: Vec<String> = serde_json::from_value(file["requests"].clone()).context("requests")?;
        let mut matrix = Matrix {
            modes: text_at("modes").context("modes")?,
            objects: Vec::new(),
            policies: Vec::new(),
            webhook: Vec::new(),
            review: text_at("review"),
            on_failure: text_at("on_failure"),
            requests: requests.iter().map(|it| Request::parse(it)).collect::<Result<_>>()?,
            subjects: list(&file, "subjects").iter().map(Who::read).collect(),
            answers: Table::read(&file)?,
            path,
            text,
        };
        for other in list(&file, "with").iter().filter_map(Value::as_str) {
            let (_, other) = read(&matrix.path.with_file_name(format!("{other}.yaml")))?;
            matrix.add(&other);
        }
        matrix.add(&file);
        Ok(matrix)
    }

    fn add(&mut self, file: &Value) {
        self.objects.extend(list(file, "objects"));
        self.policies.extend(list(file, "policies"));
        self.webhook.extend(list(file, "webhook"));
    }

    /// The name of the file.
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The number of answers.
    pub fn cells(&self) -> usize {
        self.subjects.len() * self.requests.len()
    }

    /// The decisions of our authorizers, without a server around them.
    pub async fn decided_by_us(&self, stage: &Stage) -> Result<Vec<Vec<Cell>>> {
        let authorizer = ours::authorizer(self, stage)?;
        let mut rows = Vec::new();
        for who in &self.subjects {
            let mut row = Vec::new();
            for request in &self.requests {
                row.push(stage.plain(decided(&*authorizer, who, request).await));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// The decisions of a server that was started with the flags of `stage`, after it got the objects.
    pub async fn answered_by(&self, client: &Client, stage: &Stage, asked: Asked) -> Result<Vec<Vec<Cell>>> {
        stage::prepare(self, client).await?;
        let mut rows = Vec::new();
        for who in &self.subjects {
            let mut row = Vec::new();
            for request in &self.requests {
                let body = request.review(who);
                let mut cell = question::ask(client, &body).await?;
                if asked == Asked::Often && cell.may_have_others() {
                    for _ in 1..OFTEN {
                        cell.add(&question::ask(client, &body).await?);
                    }
                }
                row.push(stage.plain(cell));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// Records the answers. A binding that allows a request for one subject allows it for all its subjects,
    /// whether upstream happened to name this binding or another.
    pub fn record(&self, mut answers: Vec<Vec<Cell>>) -> Result<()> {
        for column in 0..self.requests.len() {
            let mut heard = Cell::default();
            answers.iter().filter_map(|row| row.get(column)).for_each(|it| heard.add(it));
            for (row, who) in answers.iter_mut().zip(&self.subjects) {
                row[column].complete(&heard, |subject| who.is(subject));
            }
        }
        let (head, _) = self.text.split_once("\nanswers:").unwrap_or((self.text.trim_end(), ""));
        let names: Vec<String> = self.subjects.iter().map(Who::to_string).collect();
        fs::write(&self.path, format!("{head}\n{}", cells::written(&answers, &names))).context("the matrix")
    }

    /// The differences between our answers and those of the file, in words.
    pub fn differences(&self, answers: &[Vec<Cell>]) -> Vec<String> {
        self.compared(answers, Cell::covers)
    }

    /// The same of upstream's, which may name a binding that it did not name when it was listened to.
    pub fn differences_of_upstream(&self, answers: &[Vec<Cell>]) -> Vec<String> {
        self.compared(answers, |expected, seen| {
            let is_other = expected.may_have_others() && seen.may_have_others();
            is_other || expected.covers(seen)
        })
    }

    fn compared(&self, answers: &[Vec<Cell>], is_same: impl Fn(&Cell, &Cell) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        for (row, who) in self.subjects.iter().enumerate() {
            for (column, request) in self.requests.iter().enumerate() {
                let expected = self.answers.cell(row, column);
                let seen = answers.get(row).and_then(|it| it.get(column)).cloned().unwrap_or_default();
                if !is_same(&expected, &seen) {
                    let about = request.review(who)["spec"].to_string();
                    found.push(format!("{}: {about}: {seen} and not {expected}", self.name()));
                }
            }
        }
        found
    }
}

async fn decided(authorizer: &dyn Authorizer, who: &Who, request: &Request) -> Cell {
    let Verdict { decision, error } = authorizer.authorize(&request.attributes(who)).await;
    let letter = match decision {
        Decision::Allow { .. } => 'y',
        Decision::Deny { .. } => 'n',
        Decision::NoOpinion { .. } => '-',
    };
    let error = error.map(|it| it.to_string()).unwrap_or_default();
    Cell::new(letter, decision.reason(), &error)
}

fn read(path: &Path) -> Result<(String, Value)> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let document = yaml::read(text.as_bytes()).with_context(|| path.display().to_string())?;
    Ok((text, serde_json::from_slice(&json::to_bytes(&document.value))?))
}

fn list(file: &Value, key: &str) -> Vec<Value> {
    file[key].as_array().cloned().unwrap_or_default()
}
