//! The oracle as a process that answers lines of JSON.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running oracle.
pub(crate) struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    pub(crate) fn start(program: &str) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output =
            BufReader::with_capacity(1 << 20, child.stdout.take().ok_or("the oracle has no output")?);
        Ok(Self { child, input, output })
    }

    /// Asks all of these. Another thread writes them, so that a full pipe does not block the reader.
    pub(crate) fn ask(&mut self, questions: &[Value]) -> Result<Vec<Value>, Box<dyn Error>> {
        let mut input = self.input.take().ok_or("the oracle stopped")?;
        let text: String = questions.iter().map(|question| format!("{question}\n")).collect();
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).map(|()| input));
        let mut answers = Vec::with_capacity(questions.len());
        for _ in questions {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the oracle stopped".into());
            }
            // An answer that is nested too deeply for the JSON reader is not compared.
            answers.push(serde_json::from_str(&line).unwrap_or_else(|_| json!({"panic": "deep"})));
        }
        self.input = Some(writer.join().map_err(|_| "the writer panicked")??);
        Ok(answers)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Without input it ends by itself.
        self.input = None;
        let _ = self.child.wait();
    }
}
