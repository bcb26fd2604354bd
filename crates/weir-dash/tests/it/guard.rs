//! Who may use the API.

use std::net::{Ipv4Addr, SocketAddr};

use crate::house::{code, house, house_at, send, status};

const PATHS: [&str; 7] = [
    "/api/snapshot",
    "/api/stream",
    "/api/exchanges",
    "/api/inflight",
    "/api/alerts",
    "/api/schema",
    "/api/none",
];

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n")
}

#[tokio::test]
async fn a_token_has_to_be_shown_for_the_api_and_for_nothing_else() {
    let house = house_at((Ipv4Addr::UNSPECIFIED, 0).into(), Some("s3cret")).await;
    for shown in [
        "",
        "authorization: Bearer\r\n",
        "authorization: Bearer \r\n",
        "authorization: Bearer s3cre\r\n",
        "authorization: Bearer s3crets\r\n",
        "authorization: Basic s3cret\r\n",
        "authorization: s3cret\r\n",
        "authorization: Bearer s3cret\r\nauthorization: Bearer other\r\n",
    ] {
        for path in PATHS {
            let answer = send(house.address, &get(path, &format!("host: localhost\r\n{shown}"))).await;
            assert_eq!((status(&answer), code(&answer).as_str()), (401, "invalid_token"), "{path} {shown}");
            assert!(answer.contains("www-authenticate: Bearer realm=\"weir\"\r\n"), "{answer}");
        }
    }
    // Whoever shows it may call this machine what they like.
    for shown in
        ["authorization: Bearer s3cret\r\n", "Authorization: bearer  s3cret\r\nhost: weir.example\r\n"]
    {
        let answer = send(house.address, &get("/api/snapshot", shown)).await;
        assert_eq!(status(&answer), 200, "{answer}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(status(&send(house.address, &get(path, "host: weir\r\n")).await), 200);
    }
}

#[tokio::test]
async fn without_a_token_the_api_is_closed_to_other_machines() {
    let everywhere: [SocketAddr; 2] = [(Ipv4Addr::UNSPECIFIED, 0).into(), "[::]:0".parse().unwrap()];
    for listen in everywhere {
        let house = house_at(listen, None).await;
        for path in PATHS {
            let answer = send(house.address, &get(path, "host: localhost\r\n")).await;
            assert_eq!((status(&answer), code(&answer).as_str()), (403, "token_required"), "{path}");
            assert!(answer.contains("admin.token"), "{answer}");
        }
        assert_eq!(status(&send(house.address, &get("/healthz", "host: weir\r\n")).await), 200);
    }
}

#[tokio::test]
async fn a_foreign_name_of_this_machine_is_refused() {
    let house = house().await;
    for host in [
        "",
        "host: evil.example\r\n",
        "host: localhost.evil.example:9464\r\n",
        "host: 10.0.0.1\r\n",
        "host: evil@localhost\r\n",
        "host: localhost\r\nhost: evil.example\r\n",
    ] {
        for path in PATHS {
            let answer = send(house.address, &get(path, host)).await;
            assert_eq!((status(&answer), code(&answer).as_str()), (403, "foreign_host"), "{path} {host}");
        }
        assert_eq!(status(&send(house.address, &get("/healthz", host)).await), 200, "{host}");
    }
    let absolute = get("http://evil.example/api/snapshot", "host: localhost\r\n");
    assert_eq!(code(&send(house.address, &absolute).await), "foreign_host");
    for host in ["localhost", "LOCALHOST:9464", "127.0.0.1:1", "127.1.2.3", "[::1]", "[::1]:80"] {
        let answer = send(house.address, &get("/api/snapshot", &format!("host: {host}\r\n"))).await;
        assert_eq!(status(&answer), 200, "{host}: {answer}");
    }
}

#[tokio::test]
async fn a_foreign_page_is_refused() {
    let house = house().await;
    for headers in [
        "origin: http://evil.example\r\n",
        "origin: http://localhost:3000\r\n",
        "origin: http://127.0.0.1:9464\r\n",
        "origin: null\r\n",
        "origin: localhost:9464\r\n",
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        "origin: http://localhost:9464\r\nsec-fetch-site: cross-site\r\n",
    ] {
        let headers = format!("host: localhost:9464\r\n{headers}");
        for path in PATHS {
            let answer = send(house.address, &get(path, &headers)).await;
            assert_eq!((status(&answer), code(&answer).as_str()), (403, "foreign_origin"), "{headers}");
        }
        let form = format!("POST /api/alerts/slow/silence HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
        assert_eq!(status(&send(house.address, &form).await), 403);
    }
    for headers in
        ["origin: http://localhost:9464\r\n", "sec-fetch-site: same-origin\r\n", "sec-fetch-site: none\r\n"]
    {
        let answer =
            send(house.address, &get("/api/snapshot", &format!("host: LOCALHOST:9464\r\n{headers}"))).await;
        assert_eq!(status(&answer), 200, "{headers}: {answer}");
        assert!(!answer.contains("access-control"), "{answer}");
    }
}

#[tokio::test]
async fn a_form_cannot_give_commands() {
    let mut house = house().await;
    for media in [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: multipart/form-data; boundary=application/json\r\n",
        "content-type: text/plain; application/json\r\n",
    ] {
        for what in ["silence", "unsilence", "acknowledge"] {
            let request = format!(
                "POST /api/alerts/slow/{what} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{media}content-length: 2\r\n\r\n{{}}"
            );
            let answer = send(house.address, &request).await;
            assert_eq!((status(&answer), code(&answer).as_str()), (415, "not_json"), "{media}");
        }
    }
    assert!(house.alerts.try_recv().is_err());
}

#[tokio::test]
async fn long_heads_and_uris_are_refused() {
    let house = house().await;
    let fits = format!("/api/snapshot?{}", "x".repeat(8 * 1024 - "/api/snapshot?".len()));
    assert_eq!(status(&send(house.address, &get(&fits, "host: localhost\r\n")).await), 200);
    let answer = send(house.address, &get(&format!("{fits}x"), "host: localhost\r\n")).await;
    assert_eq!((status(&answer), code(&answer).as_str()), (414, "uri_too_long"));
    let wide = get("/api/snapshot", &format!("host: localhost\r\nx: {}\r\n", "x".repeat(64 * 1024)));
    assert_eq!(status(&send(house.address, &wide).await), 431);
}
