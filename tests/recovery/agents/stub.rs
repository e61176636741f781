//! A server on the loopback that answers like the models' vendors, from a script. It remembers nothing: which call comes next is the
//! number of results since the prompt that names the script, so repeated and resumed requests get the same answer.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::dialect::{Dialect, Part};
use super::script::{IN_STEP, calls};

/// Largest request (bytes).
const MOST: u64 = 64 << 20;

/// The server. It goes with the test's process.
pub(super) struct Stub {
    pub(super) port: u16,
    heard: Arc<Mutex<Vec<Value>>>,
    prompts: Arc<Mutex<Vec<String>>>,
    arrived: Arrived,
}

/// The places in scripts at which clients have arrived: the client, and the number of its call.
type Arrived = Arc<Mutex<HashSet<(&'static str, usize)>>>;

struct Served {
    client: Client,
    project: PathBuf,
    arrived: Arrived,
    heard: Arc<Mutex<Vec<Value>>>,
    prompts: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    pub(super) fn start(client: Client, project: PathBuf) -> Self {
        Self::start_with(client, project, Arrived::default())
    }

    /// Starts one for a client that works beside that of `self`, in step where the scripts want it.
    pub(super) fn beside(&self, client: Client, project: PathBuf) -> Self {
        Self::start_with(client, project, Arc::clone(&self.arrived))
    }

    fn start_with(client: Client, project: PathBuf, arrived: Arrived) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
        let prompts: Arc<Mutex<Vec<String>>> = Arc::default();
        let served = Arc::new(Served {
            client,
            project,
            arrived: Arc::clone(&arrived),
            heard: Arc::clone(&heard),
            prompts: Arc::clone(&prompts),
        });
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = Arc::clone(&served);
                // A client that hangs up has what it wanted.
                thread::spawn(move || served.serve(&stream).ok());
            }
        });
        Self {
            port,
            heard,
            prompts,
            arrived,
        }
    }

    /// Returns the results of tools that the model was given, each once: `text` and `failed`.
    pub(super) fn results(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    /// Returns the prompts that name a script, each once.
    pub(super) fn prompts(&self) -> Vec<String> {
        self.prompts.lock().unwrap().clone()
    }
}

impl Served {
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.take(MOST));
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut words = line.split_whitespace();
        let (method, path) = (
            words.next().unwrap_or_default().to_owned(),
            words.next().unwrap_or_default().to_owned(),
        );
        let (mut length, mut is_chunked) = (0, false);
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let Some((name, value)) = header.trim().split_once(':') else {
                break;
            };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "transfer-encoding" => is_chunked = value.contains("chunked"),
                "expect" => (&*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?,
                _ => {}
            }
        }
        let body = match is_chunked {
            true => chunks(&mut reader)?,
            false => {
                let mut body = vec![0; length];
                reader.read_exact(&mut body)?;
                body
            }
        };
        let request: Value = serde_json::from_slice(&body).unwrap_or_default();
        let (status, kind, body) = self.answer(&method, &path, &request);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        stream.write_all(head.as_bytes())?;
        if method != "HEAD" {
            stream.write_all(body.as_bytes())?;
        }
        stream.flush()
    }

    /// Waits until two clients have come to the call of this number, or for as long as a slow start takes.
    fn wait_for_the_other(&self, call: usize) {
        let end = Instant::now() + Duration::from_secs(90);
        self.arrived.lock().unwrap().insert((self.client.word(), call));
        let both = || {
            let arrived = self.arrived.lock().unwrap();
            arrived.iter().filter(|(_, number)| *number == call).count() > 1
        };
        while !both() && Instant::now() < end {
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn answer(&self, method: &str, path: &str, request: &Value) -> (&'static str, &'static str, String) {
        let json = |value: Value| ("200 OK", "application/json", value.to_string());
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/models") {
            let model = json!({"id": "stub-model", "object": "model"});
            return json(json!({"object": "list", "data": [model], "models": []}));
        }
        if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
            return json(json!({"input_tokens": 10, "totalTokens": 10}));
        }
        let Some(dialect) = Dialect::of(path).filter(|_| method == "POST") else {
            return ("404 Not Found", "application/json", "{}".to_owned());
        };
        let (mut script, mut results) = (None, Vec::new());
        for part in dialect.parts(request) {
            match part {
                Part::Prompt(text) => {
                    if let Some(name) = named(&text) {
                        let mut prompts = self.prompts.lock().unwrap();
                        if !prompts.contains(&text) {
                            prompts.push(text);
                        }
                        (script, results) = (Some(name), Vec::new());
                    }
                }
                Part::Result { text, failed } => results.push(json!({"text": text, "failed": failed})),
            }
        }
        // Requests without tools want a title or a summary.
        let script = script.filter(|_| dialect.has_tools(request));
        if script.as_ref().is_some_and(|name| name.starts_with(IN_STEP)) {
            self.wait_for_the_other(results.len());
        }
        let next = script.as_ref().and_then(|name| {
            let mut calls = calls(self.client, name, &self.project).into_iter();
            calls.nth(results.len())
        });
        if script.is_some() {
            let mut heard = self.heard.lock().unwrap();
            for result in results {
                if !heard.contains(&result) {
                    heard.push(result);
                }
            }
        }
        dialect.answer(path, request, next)
    }
}

/// Returns the name behind the last `SCRIPT:` of a prompt.
fn named(text: &str) -> Option<String> {
    let (_, behind) = text.rsplit_once("SCRIPT:")?;
    let is_of_a_name = |letter: &char| letter.is_ascii_alphanumeric();
    Some(behind.chars().take_while(is_of_a_name).collect())
}

fn chunks(reader: &mut impl std::io::BufRead) -> std::io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        let mut chunk = vec![0; size + 2];
        reader.read_exact(&mut chunk)?;
        if size == 0 {
            return Ok(body);
        }
        chunk.truncate(size);
        body.extend(chunk);
    }
}
