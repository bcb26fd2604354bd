//! `weir health`: an exec probe, for admin ports that only the container itself can reach.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A probe that takes longer has its answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks a running weir; `Ok` if it answers with 200, else what is wrong.
pub(crate) fn probe(admin: SocketAddr, ready: bool) -> Result<(), String> {
    let path = if ready { "/readyz" } else { "/healthz" };
    let status = ask(admin, path).map_err(|error| format!("{admin}{path}: {error}"))?;
    match status {
        200 => Ok(()),
        other => Err(format!("{admin}{path}: status {other}")),
    }
}

fn ask(admin: SocketAddr, path: &str) -> io::Result<u16> {
    let mut socket = TcpStream::connect_timeout(&admin, PATIENCE)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    write!(socket, "GET {path} HTTP/1.1\r\nhost: {admin}\r\nconnection: close\r\n\r\n")?;
    let mut head = [0; 12];
    socket.read_exact(&mut head)?;
    // "HTTP/1.1 200"
    let status = std::str::from_utf8(&head).ok().and_then(|head| head.strip_prefix("HTTP/1.1 "));
    status
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
}
