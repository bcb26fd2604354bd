use crate::harness::{Rig, request, response};

const PATHS: [&str; 9] = [
    "/v1/models/org%2Fmodel%20a?x=%2F&y=&x=2",
    "/v1//models",
    "/v1/./models",
    "/v1/../models",
    "/v1/models?",
    "/v1/models;a=b/?q='{}|",
    "/?",
    "/%00%ff",
    "//x//",
];

async fn sees(base: &str) {
    let (rig, upstream) = Rig::with(|setup| {
        let url = format!("{}{base}", setup.config.upstream.url);
        setup.config.upstream.url = url.parse().unwrap();
    })
    .await;
    let mut client = rig.client().await;
    let mut engine = None;
    for path in PATHS {
        client.send(request(&format!("GET {path}"), "", "")).await;
        if engine.is_none() {
            engine = Some(upstream.accept().await);
        }
        let engine = engine.as_mut().unwrap();
        assert_eq!(engine.request().await.head.target(), format!("{base}{path}"));
        engine.send(response("200 OK", "", "x")).await;
        assert_eq!(client.response().await.status(), 200);
    }
}

#[tokio::test]
async fn path_and_query_pass_byte_for_byte() {
    sees("").await;
}

#[tokio::test]
async fn they_stand_behind_the_base_path() {
    sees("/engines/a").await;
}

#[tokio::test]
async fn the_whole_server_can_be_asked_for_its_options() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request("OPTIONS *", "", "")).await;
    let (mut engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.line, "OPTIONS * HTTP/1.1");
    engine.send(response("200 OK", "", "x")).await;
    assert_eq!(client.response().await.status(), 200);
}

#[tokio::test]
async fn an_absolute_target_is_sent_as_its_path() {
    let (rig, upstream) = Rig::start().await;
    let mut client = rig.client().await;
    client.send(request("GET http://weir.test/v1/models?x=1", "", "")).await;
    let (_engine, asked) = upstream.asked().await;
    assert_eq!(asked.head.target(), "/v1/models?x=1");
}
