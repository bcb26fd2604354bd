//! Asks the admin port what it knows.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An admin port that takes longer for a step does not answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longer answers are not read.
const MAX_ANSWER: u64 = 64 << 20;

/// As much of an error's message is shown.
const MAX_MESSAGE: usize = 400;

/// The token that an environment variable holds, where one is named.
pub(crate) fn token(variable: Option<&str>) -> Result<Option<String>, String> {
    let token = variable.map(|name| {
        std::env::var(name).map_err(|_| format!("the environment variable {name} does not hold a token"))
    });
    token.transpose()
}

/// The newest snapshot, as it came.
pub(super) fn snapshot(admin: SocketAddr, token: Option<&str>) -> Result<String, String> {
    ask(admin, "/api/snapshot", token)
}

/// What stands at a path of the admin port, as it came.
pub(crate) fn ask(admin: SocketAddr, path: &str, token: Option<&str>) -> Result<String, String> {
    let answer = get(admin, path, token).map_err(|error| format!("cannot ask: {error}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("the answer is not HTTP")?;
    let status = head.strip_prefix("HTTP/1.").and_then(|head| head.split(' ').nth(1));
    match status {
        Some("200") => Ok(body.to_owned()),
        Some(status) => Err(format!("status {status}{}", message(body))),
        None => Err("the answer is not HTTP".into()),
    }
}

fn get(admin: SocketAddr, path: &str, token: Option<&str>) -> io::Result<String> {
    let mut socket = TcpStream::connect_timeout(&admin, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    // A line break would end the header.
    let shown = token.map(|token| format!("authorization: Bearer {}\r\n", token.trim()));
    let shown = shown.unwrap_or_default();
    // In HTTP/1.0 an answer is never in pieces, and the end of the connection is its end.
    write!(socket, "GET {path} HTTP/1.0\r\nhost: {admin}\r\n{shown}\r\n")?;
    let mut answer = String::new();
    let read = socket.take(MAX_ANSWER).read_to_string(&mut answer)?;
    match read as u64 == MAX_ANSWER {
        true => Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long")),
        false => Ok(answer),
    }
}

/// What an error says, after a colon.
fn message(body: &str) -> String {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| json["error"]["message"].as_str());
    message.map_or_else(String::new, |message| {
        let shown = message.chars().filter(|c| !c.is_control()).take(MAX_MESSAGE);
        format!(": {}", shown.collect::<String>())
    })
}
