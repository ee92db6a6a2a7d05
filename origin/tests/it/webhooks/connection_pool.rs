//! Connections that are kept open between deliveries. A connection is reused only while the host still resolves to its address and the
//! egress filter allows all addresses of the host.

use crate::support::receiver::{Manner, Receiver};
use crate::webhooks::world::World;
use serde_json::json;

#[tokio::test]
async fn one_connection_carries_one_delivery_after_the_other() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::Keeps(9)).await;
    let (id, _) = world.subscribed(&receiver).await;
    for title in ["first", "second", "third"] {
        world.tell(title).await;
        assert_eq!(world.deliveries(id).await[0]["status"], "delivered", "{title}");
    }
    assert_eq!((receiver.seen().len(), receiver.connections()), (3, 1));
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_costs_no_attempt() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::Keeps(1)).await;
    let (id, _) = world.subscribed(&receiver).await;
    world.tell("first").await;
    // The receiver reads this request on the kept connection and closes the connection without an answer.
    world.tell("second").await;
    let delivery = &world.deliveries(id).await[0];
    assert_eq!((&delivery["status"], &delivery["attempt"]), (&json!("delivered"), &json!(1)));
    assert_eq!(world.subscription(id).await["failure_count"], 0);
    let told: Vec<String> = receiver.seen().iter().map(|seen| seen.header("x-service-event-id").to_owned()).collect();
    assert_eq!((told.len(), receiver.connections()), (3, 2));
    assert!(told[0] != told[1] && told[1] == told[2], "sent again under the same id: {told:?}");
}

/// W5: a name is resolved again for each attempt, even if a connection to its earlier address is still open.
#[tokio::test]
async fn w5_a_kept_connection_is_not_used_when_the_name_resolves_elsewhere() {
    let world = World::new().await;
    let receiver = Receiver::new(Manner::Keeps(9)).await;
    let home: &[&str] = &["127.0.0.1"];
    for (name, later, error) in [
        ("forbidden.partner.dev", &["10.0.0.1"] as &[&str], "blocked_url"),
        ("mixed.partner.dev", &["127.0.0.1", "10.0.0.1"], "blocked_url"),
        // An allowed address on which nothing listens.
        ("moved.partner.dev", &["127.0.0.2"], "delivery_error"),
    ] {
        world.names.lead(name, &[home, home, home, later]);
        let (id, _) = world.subscribe(&receiver.url_as(name)).await;
        let (seen, connections) = (receiver.seen().len(), receiver.connections());
        world.tell("before").await;
        world.tell("before still").await;
        assert_eq!((receiver.seen().len() - seen, receiver.connections() - connections), (2, 1), "{name}");
        world.tell("after").await;
        assert_eq!(world.deliveries(id).await[0]["error"], error, "{name}");
        assert_eq!(receiver.seen().len() - seen, 2, "{name}");
        world.ask("DELETE", &format!("/v1/webhooks/{id}")).await;
    }
}
