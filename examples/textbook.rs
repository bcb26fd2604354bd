//! The textbook case, measured: a model that answers after 0.8 s and then at 15 tokens a second, 50 tokens an answer,
//! asked by one client and then by ten at once.
//!
//! `cargo run --release --example textbook`
//!
//! The simulated engine draws from seed 42; weir stands in front of it and measures. Everything is in this process
//! and ends by itself after about ten seconds.

// An example prints what it found, and has nobody to hand an error to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use weir_core::draft::Watch;
use weir_core::exchange::Exchange;
use weir_core::inflight::Inflight;
use weir_core::policy::{LaneLimits, Policy};
use weir_core::reader::TokenRule;
use weir_core::tally::Tally;
use weir_core::timeline::{Mark, Offset};
use weir_load::engine::{Behaviour, Engine, EngineConfig, Interval, Length};
use weir_proxy::{
    Config, ContextRules, Drain, FullStatus, HeaderRules, ListenConfig, Outlet, Server, Timeouts,
    UpstreamConfig, UpstreamHttp, Wiring,
};

const TOKENS: u32 = 50;

#[tokio::main]
async fn main() {
    let engine = EngineConfig {
        behaviour: Behaviour {
            ttft: Duration::from_millis(800),
            tps: 15.0,
            interval: Interval::Exp,
            length: Length::Own(TOKENS),
            ..Behaviour::default()
        },
        seed: 42,
        ..EngineConfig::default()
    };
    let engine = Engine::bind(engine, any_port()).await.unwrap();
    let (weir, mut records) = Weir::before(engine.addr());

    ask(weir.address).await;
    let one = records.recv().await.unwrap();
    println!("One stream");
    single(&one);

    let mut clients = JoinSet::new();
    for _ in 0..10 {
        clients.spawn(ask(weir.address));
    }
    clients.join_all().await;
    let mut ten = Vec::new();
    while ten.len() < 10 {
        ten.push(*records.recv().await.unwrap());
    }
    println!("\nTen streams at once");
    together(&ten);

    weir.drain.finish(Duration::from_secs(1)).await;
    engine.shutdown().await;
}

/// The figures of one exchange.
fn single(exchange: &Exchange) {
    let timeline = &exchange.timeline;
    let tokens = exchange.answer.tokens.unwrap().count;
    let span = last_token(exchange) - first_token(exchange);
    println!("  tokens                    {tokens:>8}");
    println!("  TTFT                      {:>8.3} s", timeline.ttft().unwrap().as_secs_f64());
    println!("  TPOT                      {:>8.1} ms", exchange.tpot().unwrap() * 1e3);
    println!("  TPS                       {:>8.2} tokens/s", exchange.tps().unwrap());
    println!("  end to end                {:>8.3} s", timeline.e2e().unwrap().as_secs_f64());
    println!(
        "  the textbook's N/(last - first) would be {:.2} tokens/s: it counts {tokens} tokens over the",
        tokens as f64 / span
    );
    println!(
        "  {} gaps between them. The first token's time is TTFT; TPS here is the {} that took that time.",
        tokens - 1,
        tokens - 1
    );
}

/// The figures of exchanges that ran side by side.
fn together(exchanges: &[Exchange]) {
    let begun = exchanges.iter().map(|exchange| exchange.received_mono).min().unwrap();
    let at = |exchange: &Exchange, mark| {
        exchange.received_mono.since(begun).as_secs_f64() + exchange.timeline.at(mark).unwrap().as_secs_f64()
    };
    let last = exchanges.iter().map(|exchange| at(exchange, Mark::LastToken)).fold(0.0, f64::max);
    let tokens: u64 = exchanges.iter().map(|exchange| exchange.answer.tokens.unwrap().count).sum();
    let ttft = exchanges.iter().map(|exchange| exchange.timeline.ttft().unwrap().as_secs_f64());
    let each: Vec<f64> = exchanges.iter().filter_map(Exchange::tps).collect();
    let mean = each.iter().sum::<f64>() / each.len() as f64;
    let effective = tokens as f64 / last;
    println!("  tokens                    {tokens:>8}");
    println!("  time                      {last:>8.3} s");
    println!("  TTFT, mean                {:>8.3} s", ttft.sum::<f64>() / exchanges.len() as f64);
    println!("  TPS of a stream, mean     {mean:>8.2} tokens/s");
    println!(
        "  theoretical throughput    {:>8.2} tokens/s: {} streams at that rate",
        mean * exchanges.len() as f64,
        exchanges.len()
    );
    println!(
        "  effective throughput      {effective:>8.2} tokens/s: all tokens over all of the time, waits included"
    );
}

fn first_token(exchange: &Exchange) -> f64 {
    exchange.timeline.at(Mark::FirstToken).unwrap().as_secs_f64()
}

fn last_token(exchange: &Exchange) -> f64 {
    exchange.timeline.at(Mark::LastToken).unwrap().as_secs_f64()
}

/// Asks for an answer and reads it to its end.
async fn ask(weir: SocketAddr) {
    const BODY: &str = r#"{"model":"sim","stream":true,"stream_options":{"include_usage":true},
        "messages":[{"role":"user","content":"What is a weir?"}]}"#;
    let mut stream = TcpStream::connect(weir).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {weir}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        BODY.len()
    );
    stream.write_all(format!("{head}{BODY}").as_bytes()).await.unwrap();
    stream.read_to_end(&mut Vec::new()).await.unwrap();
}

/// A data path without the rest of weir: it measures, and hands each record over.
struct Weir {
    address: SocketAddr,
    drain: Drain,
    _policy: watch::Sender<Policy>,
    _server: JoinSet<()>,
}

impl Weir {
    fn before(engine: SocketAddr) -> (Self, mpsc::Receiver<Box<Exchange>>) {
        let config = Config {
            listen: ListenConfig { address: any_port(), ..ListenConfig::default() },
            upstream: UpstreamConfig {
                name: "sim".into(),
                url: format!("http://{engine}").parse().unwrap(),
                http: UpstreamHttp::Http1,
                tls: None,
                api_key: None,
                max_idle: 16,
                idle_timeout: Duration::from_secs(4),
            },
            timeouts: Timeouts::default(),
            full_status: FullStatus::TooManyRequests,
            headers: HeaderRules::default(),
            context: ContextRules::default(),
            watch: Watch {
                stall_after: Offset::from(Duration::from_secs(2)),
                keep_all_gaps: false,
                token_rule: TokenRule::Weir,
            },
            request_buffer: 64 * 1024,
        };
        let unlimited =
            LaneLimits { max_concurrent: None, max_queued: 0, queue_timeout: Duration::from_secs(30) };
        let (policy, policy_seen) =
            watch::channel(Policy { global: unlimited, models: [].into(), fallbacks: Vec::new() });
        let tally = Arc::new(Tally::default());
        let (outlet, records) = Outlet::new(64, Arc::clone(&tally));
        let drain = Drain::new();
        let wiring = Wiring {
            policy: policy_seen,
            outlet,
            inflight: Arc::new(Inflight::new(64)),
            lanes: Arc::default(),
            tally,
            drain: drain.clone(),
        };
        let server = Server::bind(config, wiring).unwrap();
        let address = server.address().unwrap();
        let mut task = JoinSet::new();
        task.spawn(server.run());
        (Self { address, drain, _policy: policy, _server: task }, records)
    }
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}
