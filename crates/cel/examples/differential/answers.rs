//! Answers of the oracle that are kept in a file, so that a run after a change of ours does not need to ask again.
//!
//! The environment variable `KEELSON_CEL_ANSWERS` names the folder; without it nothing is kept. A line of a file is
//! the answers of a batch after a hash of its questions: what is generated otherwise than before is asked again.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use serde_json::Value;

/// The answers of one seed.
pub(crate) struct Answers {
    file: Option<PathBuf>,
    kept: Option<BufReader<File>>,
}

impl Answers {
    pub(crate) fn of(seed: u64) -> Result<Self, Box<dyn Error>> {
        let Some(folder) = std::env::var_os("KEELSON_CEL_ANSWERS") else {
            return Ok(Self { file: None, kept: None });
        };
        std::fs::create_dir_all(&folder)?;
        let file = PathBuf::from(folder).join(format!("{seed}.answers"));
        let kept = File::open(&file).ok().map(BufReader::new);
        Ok(Self { file: Some(file), kept })
    }

    /// The answers of the next batch, if they are kept and its questions are still the same.
    pub(crate) fn next(
        &mut self,
        environment: &Value,
        questions: &[Value],
    ) -> Result<Option<Vec<Value>>, Box<dyn Error>> {
        let Some(kept) = &mut self.kept else { return Ok(None) };
        let mut line = String::new();
        kept.read_line(&mut line)?;
        if let Some((hash, answers)) = line.split_once(' ')
            && hash == hash_of(environment, questions)
            && let Ok(answers) = serde_json::from_str(answers)
        {
            return Ok(Some(answers));
        }
        // What follows belongs to other questions, or an earlier run was stopped within a line.
        if line.is_empty() {
            self.kept = None;
        } else {
            self.forget()?;
        }
        Ok(None)
    }

    fn forget(&mut self) -> Result<(), Box<dyn Error>> {
        self.kept = None;
        if let Some(file) = &self.file {
            File::create(file)?;
            eprintln!("{}: other questions than before, all are asked again", file.display());
            self.file = None;
        }
        Ok(())
    }

    /// Keeps the answers of a batch.
    pub(crate) fn keep(
        &self,
        environment: &Value,
        questions: &[Value],
        answers: &[Value],
    ) -> Result<(), Box<dyn Error>> {
        let Some(file) = &self.file else { return Ok(()) };
        let line = format!("{} {}\n", hash_of(environment, questions), Value::from(answers));
        OpenOptions::new().create(true).append(true).open(file)?.write_all(line.as_bytes())?;
        Ok(())
    }
}

fn hash_of(environment: &Value, questions: &[Value]) -> String {
    let mut hasher = DefaultHasher::new();
    environment.to_string().hash(&mut hasher);
    questions.iter().for_each(|question| question.to_string().hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}
