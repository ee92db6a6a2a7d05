//! Misbehaving receivers: each fails only its own attempts, and cannot make the service connect to another address.

use crate::support::receiver::{Certificate, Manner, Receiver};
use crate::support::streaming::eventually;
use crate::webhooks::world::{IMPATIENT, World};
use rds_engine::clock::Stopwatch;
use rds_origin::webhooks::deliver::Deliveries;
use rds_origin::webhooks::egress_filter::LookupError;
use serde_json::{Value, json};
use std::time::Duration;

const MOMENT: Duration = Duration::from_millis(20);

fn elapsed(since: Stopwatch) -> Duration {
    Duration::from_micros(since.micros())
}

fn outcome(row: &Value) -> (&Value, &Value) {
    (&row["error"], &row["response_status"])
}

/// W3: every bad answer is one failed attempt within the deadline, and all attempts run at the same time.
#[tokio::test]
async fn w3_whatever_a_receiver_does_costs_one_attempt_within_the_deadline() {
    let world = World::patient_for(IMPATIENT).await;
    let huge_header = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    let informed = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(10_000);
    let cases = [
        ("silence instead of TLS", Manner::Silent, "timeout"),
        ("a reset", Manner::Resets, "delivery_error"),
        ("HTTP without TLS", Manner::Plain, "delivery_error"),
        ("only HTTP/2", Manner::OnlyHttp2, "delivery_error"),
        ("no answer", Manner::Hangs, "timeout"),
        ("a head byte by byte", Manner::Drips(b"HTTP/1.1 200 OK\r\nx: ", MOMENT), "timeout"),
        (
            "a body byte by byte",
            Manner::Body(b"HTTP/1.1 200 OK\r\ncontent-length: 16000\r\n\r\n".to_vec(), MOMENT),
            "timeout",
        ),
        (
            "a body that breaks off",
            Manner::Says(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_vec()),
            "delivery_error",
        ),
        ("a header of a megabyte", Manner::head(&huge_header), "delivery_error"),
        ("hints without end", Manner::Says(informed.into_bytes()), "delivery_error"),
        ("no status line", Manner::head("HTP/7 fine"), "delivery_error"),
        ("a status that is none", Manner::head("HTTP/1.1 2OO OK"), "delivery_error"),
        ("nothing", Manner::Says(Vec::new()), "delivery_error"),
    ];
    let mut asked = Vec::new();
    for (name, manner, expected) in cases {
        let receiver = Receiver::new(manner).await;
        asked.push((name, world.subscribed(&receiver).await.0, expected, receiver));
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (nobody, _) = world.subscribe(&format!("https://127.0.0.1:{closed}/hook")).await;
    world.happens("event.published", "badly received").await;
    assert_eq!(world.fan_out().await, 14);
    let begun = Stopwatch::start();
    assert_eq!(world.deliver().await, 14);
    let took = elapsed(begun);
    assert!(took < IMPATIENT * 3, "together they took {took:?}");
    for (name, id, expected, _receiver) in &asked {
        let row = &world.deliveries(*id).await[0];
        assert_eq!((&row["error"], &row["attempt"]), (&json!(expected), &json!(2)), "{name}");
    }
    assert_eq!(outcome(&world.deliveries(nobody).await[0]), (&json!("delivery_error"), &Value::Null));
}

/// W3: only the status of a response counts. An endless or compressed body is not read.
#[tokio::test]
async fn w3_an_endless_body_after_a_good_status_is_not_read() {
    let world = World::patient_for(Duration::from_secs(10)).await;
    for head in [
        "HTTP/1.1 200 OK\r\ncontent-length: 10000000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 10000000000\r\n\r\n",
        "HTTP/1.1 200 OK\r\nx-name: caf\u{e9}\r\n\r\n",
    ] {
        let receiver = Receiver::new(Manner::Body(head.as_bytes().to_vec(), Duration::ZERO)).await;
        let (id, _) = world.subscribed(&receiver).await;
        let begun = Stopwatch::start();
        world.tell("flood").await;
        assert_eq!(world.deliveries(id).await[0]["status"], "delivered", "{head}");
        assert!(elapsed(begun) < Duration::from_secs(8), "the endless body was read");
        world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
    }
}

/// W4: a redirect is an answer that is not 2xx.
#[tokio::test]
async fn w4_a_redirect_is_not_followed() {
    let world = World::new().await;
    let elsewhere = Receiver::new(Manner::status(200)).await;
    for status in [301, 302, 303, 307, 308] {
        for location in
            [elsewhere.url(), "https://169.254.169.254/".to_owned(), "https://[::1]/".to_owned(), "/other".to_owned()]
        {
            let receiver =
                Receiver::new(Manner::head(&format!("HTTP/1.1 {status} There\r\nlocation: {location}"))).await;
            let (id, _) = world.subscribed(&receiver).await;
            world.tell("moved").await;
            assert_eq!(outcome(&world.deliveries(id).await[0]), (&json!("status"), &json!(status)), "{location}");
            assert_eq!((receiver.connections(), elsewhere.connections()), (1, 0), "{status} to {location}");
            world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
        }
    }
}

/// W5: a name that resolved to a public address at its registration and to a private one later is not connected to.
#[tokio::test]
async fn w5_a_name_that_is_rebound_is_refused_before_anything_is_sent() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let good: &[&str] = &["127.0.0.1"];
    for (name, later) in [
        ("rebound.partner.dev", &["169.254.169.254"] as &[&str]),
        ("mixed.partner.dev", &["127.0.0.1", "10.0.0.1"]),
        ("six.partner.dev", &["127.0.0.1", "::1"]),
        ("mapped.partner.dev", &["::ffff:169.254.169.254"]),
        ("gone.partner.dev", &[]),
    ] {
        world.names.lead(name, &[good, good, later]);
        let (id, _) = world.subscribe(&receiver.url_as(name)).await;
        let before = receiver.connections();
        world.tell("before").await;
        assert_eq!(receiver.connections(), before + 1, "{name}");
        world.tell("after").await;
        assert_eq!(outcome(&world.deliveries(id).await[0]), (&json!("blocked_url"), &Value::Null), "{name}");
        assert_eq!(receiver.connections(), before + 1, "{name}");
        world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
    }
    world.names.lead("lame.partner.dev", &[good]);
    let (id, _) = world.subscribe(&receiver.url_as("lame.partner.dev")).await;
    world.names.fail("lame.partner.dev", LookupError::NoAnswer("SERVFAIL".to_owned()));
    world.tell("unanswered").await;
    assert_eq!(outcome(&world.deliveries(id).await[0]), (&json!("delivery_error"), &Value::Null));
}

#[tokio::test]
async fn an_internal_fault_uses_no_attempt_and_counts_against_no_receiver() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    world.names.lead("ours.partner.dev", &[&["127.0.0.1"]]);
    let (id, _) = world.subscribe(&receiver.url_as("ours.partner.dev")).await;
    world.names.fail("ours.partner.dev", LookupError::OurFault("no name server".to_owned()));
    assert_eq!(world.tell("patience").await, 1);
    let row = &world.deliveries(id).await[0];
    assert_eq!(
        (&row["attempt"], &row["last_attempt_at"], &row["status"]),
        (&json!(1), &Value::Null, &json!("pending"))
    );
    assert_eq!(world.subscription(id).await["failure_count"], 0);
    assert_eq!(world.deliver().await, 0, "the delivery waits until its lease ends");
    world.names.lead("ours.partner.dev", &[&["127.0.0.1"]]);
    let sql = "update webhook_lease set until = clock_timestamp()";
    sqlx::query(sql).execute(&world.app().db.pool).await.unwrap();
    assert_eq!(world.deliver().await, 1);
    assert_eq!(receiver.seen()[0].header("x-service-delivery-attempt"), "1");
}

#[tokio::test]
async fn an_attempt_that_cannot_be_signed_is_counted_like_any_other() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::status(200)).await;
    let (id, _) = world.subscribed(&receiver).await;
    let counted = || {
        let page = world.app().scrape(false);
        let series = "rds_webhook_attempts_total{outcome=\"fault_of_ours\"} ";
        page.lines().find_map(|line| line.strip_prefix(series)).unwrap().to_owned()
    };
    assert_eq!(counted(), "0");
    let sql = "update webhook_subscription set secret = '\\x00' where id = $1";
    sqlx::query(sql).bind(id).execute(&world.app().db.pool).await.unwrap();
    world.tell("sealed").await;
    assert!(receiver.seen().is_empty());
    assert_eq!(counted(), "1");
}

/// W8: the certificate must be valid for the URL's host name. It does not matter that the name resolves to the receiver's address.
#[tokio::test]
async fn w8_a_bad_certificate_is_a_failed_attempt() {
    let world = World::new().await;
    world.names.lead("hooks.partner.dev", &[&["127.0.0.1"]]);
    world.names.lead("hooks.other.dev", &[&["127.0.0.1"]]);
    for certificate in
        [Certificate::SelfSigned, Certificate::OtherAuthority, Certificate::Expired, Certificate::OtherHost]
    {
        let receiver = Receiver::presenting(certificate, Manner::status(200)).await;
        let (id, _) = world.subscribed(&receiver).await;
        world.tell("untrusted").await;
        assert_eq!(
            outcome(&world.deliveries(id).await[0]),
            (&json!("delivery_error"), &Value::Null),
            "{certificate:?}"
        );
        assert!(receiver.seen().is_empty(), "{certificate:?}: no request was sent");
        world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
    }
    let receiver = Receiver::new(Manner::status(200)).await;
    let (named, _) = world.subscribe(&receiver.url_as("hooks.partner.dev")).await;
    let (other, _) = world.subscribe(&receiver.url_as("hooks.other.dev")).await;
    world.tell("by name").await;
    assert_eq!(world.deliveries(named).await[0]["status"], "delivered");
    assert_eq!(world.deliveries(other).await[0]["error"], "delivery_error", "the name is checked, not the address");
    assert_eq!(receiver.seen()[0].header("host"), format!("hooks.partner.dev:{}", receiver.port));
}

/// W9: however many endpoints hang at once, an endpoint that answers gets its delivery before the first attempt at a hanging endpoint times
/// out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w9_many_hanging_endpoints_delay_no_other_endpoint() {
    const HANGING_SUBSCRIPTIONS: usize = 80;
    const EVENTS_BEFORE: usize = 8;
    let patience = Duration::from_secs(20);
    let world = World::patient_for(patience).await;
    let (hanging, healthy) = (Receiver::new(Manner::Silent).await, Receiver::new(Manner::status(200)).await);
    for _ in 0..HANGING_SUBSCRIPTIONS {
        world.subscribed(&hanging).await;
    }
    for number in 0..EVENTS_BEFORE {
        world.happens("event.published", &number.to_string()).await;
    }
    world.fan_out().await;
    let deliveries = Deliveries::start(world.app());
    let begun = Stopwatch::start();
    eventually("more connections hang than a process starts at once", async || hanging.connections() > 512).await;
    world.subscribed(&healthy).await;
    world.happens("event.published", "for somebody who answers").await;
    world.fan_out().await;
    world.app().webhooks.due();
    healthy.wait_for(1).await;
    let took = elapsed(begun);
    assert!(took < patience, "the delivery waited for the hanging endpoints: {took:?}");
    deliveries.stop().await;
}

/// W9: hanging endpoints use only their own slots. All other endpoints get all deliveries before the first attempt at a hanging endpoint
/// times out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w9_hanging_endpoints_use_only_their_own_slots() {
    const EVENTS: usize = 12;
    let world = World::patient_for(Duration::from_secs(10)).await;
    let (hanging, healthy) = (Receiver::new(Manner::Hangs).await, Receiver::new(Manner::status(200)).await);
    for number in 0..10 {
        world.subscribed(if number % 5 == 0 { &hanging } else { &healthy }).await;
    }
    let deliveries = Deliveries::start(world.app());
    let begun = Stopwatch::start();
    for number in 0..EVENTS {
        world.happens("event.published", &number.to_string()).await;
    }
    world.fan_out().await;
    world.app().webhooks.due();
    healthy.wait_for(8 * EVENTS).await;
    let took = elapsed(begun);
    assert!(took < Duration::from_secs(10), "the healthy ones waited for the hanging ones: {took:?}");
    assert!(hanging.most_at_once() <= 16, "two subscriptions with eight slots each");
    deliveries.stop().await;
    assert_eq!(world.count("select count(*) from webhook_delivery where state = 'delivered'").await, 8 * EVENTS as i64);
    assert_eq!(world.count("select count(*) from webhook_lease").await, 0, "attempts under way were recorded");
}
