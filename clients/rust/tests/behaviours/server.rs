//! The scripted server, as a child process, and its control.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

pub struct Server {
    pub address: String,
    control: String,
    child: Mutex<Child>,
}

impl Server {
    pub fn start(script: &Path) -> Self {
        let mut node = Command::new("node");
        let mut child = node.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let text = |name: &str| told[name].as_str().unwrap().to_owned();
        Server { address: text("address"), control: text("control"), child: Mutex::new(child) }
    }

    /// Replaces the script. Returns the keys of the running service, by their plan, if the script needs it.
    pub fn script(&self, exchanges: &Value) -> Value {
        let exchanges = if exchanges.is_array() { exchanges.clone() } else { json!([]) };
        let told = self.request("PUT", "/script", &json!({"exchanges": exchanges}).to_string());
        serde_json::from_str::<Value>(&told).unwrap()["keys"].take()
    }

    pub fn seen(&self) -> Value {
        serde_json::from_str(&self.request("GET", "/seen", "")).unwrap()
    }

    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let host = self.control.trim_start_matches("http://");
        let mut stream = TcpStream::connect(host).unwrap();
        let length = body.len();
        write!(stream, "{method} {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
