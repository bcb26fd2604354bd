//! What a relayed event costs the proxy in CPU time, by the version of HTTP on either side and with TLS, beside the
//! same for a relay that only moves frames (the floor).
//!
//! Everything runs in this process, each part on a thread of its own, and only the proxy's thread is measured:
//! by its own CPU clock, so that neither the load nor a busy machine counts. Weir and the floor take turns.

// A bench prints its result, and has nobody to hand an error to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod client;
mod floor;
mod part;
mod tls;
mod upstream;
mod weir;

use std::net::SocketAddr;
use std::time::Duration;

use part::Part;
use tls::Authority;

/// Streams at once.
const STREAMS: usize = 64;
/// Events of each.
const EVENTS: usize = 200;
/// From one event of a stream to the next.
const PACE: Duration = Duration::from_millis(10);
/// How often Weir and the floor take turns.
const TURNS: usize = 5;

/// What both sides of the proxy speak.
#[derive(Clone, Copy, Debug)]
struct Wire {
    name: &'static str,
    client_http2: bool,
    upstream_http2: bool,
    tls: bool,
}

const WIRES: [Wire; 5] = [
    Wire { name: "HTTP/1.1 to HTTP/1.1", client_http2: false, upstream_http2: false, tls: false },
    Wire { name: "HTTP/2   to HTTP/1.1", client_http2: true, upstream_http2: false, tls: false },
    Wire { name: "HTTP/2   to HTTP/2", client_http2: true, upstream_http2: true, tls: false },
    Wire { name: "HTTP/1.1 under TLS, to HTTP/1.1", client_http2: false, upstream_http2: false, tls: true },
    Wire { name: "HTTP/2   under TLS, to HTTP/1.1", client_http2: true, upstream_http2: false, tls: true },
];

fn main() {
    let authority = Authority::new();
    println!(
        "{STREAMS} streams of {EVENTS} events, one each {PACE:?}; CPU time of the proxy's thread by event"
    );
    println!("{:<34} {:>10} {:>10} {:>7}", "client to upstream", "floor", "weir", "ratio");
    // A part of a name picks lines, as in `cargo bench --bench versions -- TLS`.
    let asked = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for wire in WIRES.into_iter().filter(|wire| wire.name.contains(&asked)) {
        let upstream = upstream::start(wire.upstream_http2);
        let (mut floors, mut weirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..TURNS {
            let floor = floor::start(wire, upstream.address, &authority);
            let floor = cost(&floor, wire, &authority);
            let weir = weir::start(wire, upstream.address, &authority);
            let weir = cost(&weir, wire, &authority);
            floors.push(floor);
            weirs.push(weir);
            ratios.push(weir / floor);
        }
        let (floor, weir, ratio) = (median(floors), median(weirs), median(ratios));
        println!("{:<34} {floor:>7.2} us {weir:>7.2} us {ratio:>7.2}", wire.name);
    }
}

/// Microseconds of the proxy's CPU time for one event.
fn cost(proxy: &Part, wire: Wire, authority: &Authority) -> f64 {
    let before = proxy.cpu_time();
    let relayed = client::load(proxy.address, wire, authority);
    let spent = proxy.cpu_time() - before;
    spent.as_secs_f64() * 1e6 / relayed as f64
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Any free port of this machine.
fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}
