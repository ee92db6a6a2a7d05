//! Webhook deliveries and the frames of the event stream.

use crate::examples::Examples;
use crate::schemas::published;
use crate::sections;
use rds_shared::model::basket::BasketNotice;
use rds_shared::model::event::EventDetail;
use rds_shared::model::security::SecurityEvent;
use rds_shared::push::cursor::Cursor;
use rds_shared::push::delivery::{Envelope, TestData};
use rds_shared::push::event_type::EventType;
use rds_shared::push::frames::{DRAINING_MILLIS, Operation, StreamReady};
use rds_shared::push::gap::Gap;
use rds_shared::push::schedule::{ATTEMPTS, DELAYS_SECONDS, TIMEOUT_SECONDS};
use rds_shared::push::signature::TOLERANCE_SECONDS;
use rds_shared::push::stream_limits::HEARTBEAT_SECONDS;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The document's `webhooks`: one request for each event type.
pub fn webhooks(generator: &mut SchemaGenerator, examples: &Examples) -> Value {
    let mut all = Map::new();
    for event in EventType::ALL.iter().copied() {
        let (schema, about) = delivery(event, generator);
        let mut schema = published(schema);
        if let Some(slot) = schema.pointer_mut("/properties/event_type") {
            *slot = json!({"const": event.as_str(), "description": "The event type."});
        }
        let mut media = json!({"schema": schema});
        if let (Some(example), Some(members)) = (examples.pushed(event.as_str()), media.as_object_mut()) {
            members.insert("example".into(), example.clone());
        }
        all.insert(event.as_str().to_owned(), json!({"post": {
            "operationId": operation_id(event),
            "tags": [sections::DELIVERIES],
            "summary": about,
            "description": format!("{about}. Delivered at least once: deduplicate on `event_id`. A 2xx within {TIMEOUT_SECONDS} seconds \
                completes the delivery; otherwise up to {ATTEMPTS} attempts are made, with {} between them.", delays()),
            "security": [],
            "parameters": delivery_headers(),
            "requestBody": {"required": true, "content": {"application/json": media}},
            "responses": {"2XX": {"description": "Accepted. The rest of the response is ignored."}},
        }}));
    }
    all.into()
}

/// The operation id of a delivery, such as `DeliverEventPublished` for `event.published`.
///
/// Some client generators ignore case and dots in names. Without the prefix they would generate one function for both the delivery
/// `webhook.test` and the route `WebhookTest`.
fn operation_id(event: EventType) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    format!("Deliver{}", event.as_str().split(['.', '_']).map(capital).collect::<String>())
}

fn delivery(event: EventType, generator: &mut SchemaGenerator) -> (Schema, &'static str) {
    match event {
        EventType::EventPublished => (of::<EventDetail>(generator), "An event became public"),
        EventType::EventRetracted => (of::<EventDetail>(generator), "A public event was retracted or demoted"),
        EventType::RatingChanged => (of::<EventDetail>(generator), "A vault's published score or tier changed"),
        EventType::SecurityEventPublished => {
            (of::<SecurityEvent>(generator), "A security event was published in the registry's feed")
        }
        EventType::WebhookTest => (of::<TestData>(generator), "The subscription's owner requested a test"),
        EventType::BasketRebalanced => (of::<BasketNotice>(generator), "A basket has a new version"),
        EventType::BasketVersionDeprecated => (of::<BasketNotice>(generator), "A basket version will be retired"),
        EventType::BasketVersionRetired => (of::<BasketNotice>(generator), "A basket version was retired"),
    }
}

/// The delays between attempts, as text.
fn delays() -> String {
    let [first @ .., last] = DELAYS_SECONDS.map(span);
    format!("{} and {last}", first.join(", "))
}

fn span(seconds: i64) -> String {
    match seconds {
        _ if seconds % 3_600 == 0 => format!("{} h", seconds / 3_600),
        _ if seconds % 60 == 0 => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

fn of<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<Envelope<'static, T>>()
}

/// Headers of a delivery: the service's own and those of Standard Webhooks.
fn delivery_headers() -> Value {
    let header = |name: &str, about: &str| json!({"name": name, "in": "header", "required": true, "description": about, "schema": {"type": "string"}});
    json!([
        header(
            "X-Service-Signature",
            &format!(
                "`t=<unix seconds>,v1=<hex>`, one `v1` per secret: HMAC-SHA-256 over the seconds, a dot and the raw body. Refuse a delivery \
                 whose time differs from yours by more than {} minutes.",
                TOLERANCE_SECONDS / 60
            )
        ),
        header("X-Service-Event-Id", "Equals `event_id`; use it to deduplicate."),
        header("X-Service-Delivery-Attempt", &format!("Number of the attempt, from 1 to {ATTEMPTS}.")),
        header("webhook-id", "Standard Webhooks: the event id."),
        header("webhook-timestamp", "Standard Webhooks: Unix time of the attempt, in seconds."),
        header("webhook-signature", "Standard Webhooks: `v1,<base64>`, one per secret, separated by spaces."),
    ])
}

/// The `event` of every kind of stream frame.
pub const FRAMES: [&str; 7] = ["ready", "published", "promoted", "retracted", "cursor", "gap", "draining"];

/// The media type object of the stream, with a recorded frame of each kind.
pub fn stream_media(examples: &Examples) -> Value {
    let recorded = FRAMES.iter().filter_map(|frame| {
        Some(((*frame).to_owned(), json!({"value": examples.pushed(&format!("stream.{frame}"))?})))
    });
    let recorded: Map<String, Value> = recorded.collect();
    let mut media = json!({"schema": {"$ref": "#/components/schemas/StreamFrame"}});
    if let (false, Some(members)) = (recorded.is_empty(), media.as_object_mut()) {
        members.insert("examples".into(), recorded.into());
    }
    media
}

/// Schemas of the frames, by name, as a parser of server-sent events returns them: `data` is a string that contains JSON.
pub fn frames(generator: &mut SchemaGenerator) -> Vec<(String, Value)> {
    let cursor = published(generator.subschema_for::<Cursor>());
    let row = published(generator.subschema_for::<EventDetail>());
    let ready = published(generator.subschema_for::<StreamReady<'static>>());
    let gap = published(generator.subschema_for::<Gap>());
    let operations: Vec<&str> = Operation::ALL.iter().map(|operation| operation.as_str()).collect();
    let json_text =
        |data: Value| json!({"type": "string", "contentMediaType": "application/json", "contentSchema": data});
    let with_id = |event: Value, data: Value, about: &str| json!({"type": "object", "description": about, "required": ["id", "event", "data"], "properties": {"id": cursor, "event": event, "data": json_text(data)}});
    let without = |event: &str, data: Value, about: &str| json!({"type": "object", "description": about, "required": ["event", "data"], "properties": {"event": {"const": event}, "data": json_text(data)}});
    let mut all = vec![
        (
            "ReadyFrame".to_owned(),
            without(
                "ready",
                ready,
                "The first frame: the filter of the stream, and the cursor after which it delivers. It has no `id`: use \
                 `data.replay.cursor` as your first cursor, so that you miss nothing if the connection breaks before the next frame.",
            ),
        ),
        (
            "OperationFrame".to_owned(),
            with_id(
                json!({"type": "string", "enum": operations}),
                row,
                "An event became public, was promoted to the feed or was retracted. `data` is the event as it was at that moment, and `id` \
                 is the cursor to resume with.",
            ),
        ),
        (
            "CursorFrame".to_owned(),
            with_id(
                json!({"const": "cursor"}),
                json!({"type": "object"}),
                "Moves your cursor past operations that your filter hides. Keep its `id`.",
            ),
        ),
        (
            "GapFrame".to_owned(),
            without(
                "gap",
                gap,
                "Operations that this stream cannot deliver: the reason, which operations, and how to continue. It has no `id`, so your cursor does not move.",
            ),
        ),
        (
            "DrainingFrame".to_owned(),
            without(
                "draining",
                json!({"type": "object", "required": ["retry"], "properties": {"retry": {"const": DRAINING_MILLIS,
                     "description": "Milliseconds to wait before reconnecting."}}}),
                "This server is about to stop. Reconnect after `retry` milliseconds with your last cursor.",
            ),
        ),
    ];
    let choices: Vec<Value> =
        all.iter().map(|(name, _)| json!({"$ref": format!("#/components/schemas/{name}")})).collect();
    all.push(("StreamFrame".to_owned(), json!({
        "oneOf": choices,
        "description": format!("One frame of the stream, as a parser of server-sent events returns it: `data` is a string that contains JSON. A \
            comment every {HEARTBEAT_SECONDS} seconds keeps the connection open. Cursors are `v2:` and a 64-bit number: keep them as text."),
    })));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use rds_shared::route::ROUTES;

    #[test]
    fn the_description_of_a_delivery_states_the_retry_schedule() {
        let deliveries = webhooks(&mut crate::schemas::generator(), &Examples::default());
        let about = deliveries["webhook.test"]["post"]["description"].to_string();
        assert!(
            about.contains("6 attempts are made, with 10 s, 1 min, 5 min, 30 min and 2 h between them."),
            "{about}"
        );
    }

    #[test]
    fn deliveries_and_routes_have_different_tags_and_names() {
        // Client generators write a file per tag and a function per name, ignoring case and dots.
        let plain = |text: &str| text.to_lowercase().replace(['.', '_'], "");
        let deliveries = webhooks(&mut crate::schemas::generator(), &Examples::default());
        for (event, item) in deliveries.as_object().unwrap() {
            let (tag, id) = (item["post"]["tags"][0].as_str().unwrap(), item["post"]["operationId"].as_str().unwrap());
            for route in ROUTES {
                assert_ne!(sections::of(route).unwrap().name, tag, "{event}");
                assert_ne!(plain(route.id.name()), plain(id), "{event}");
            }
        }
        assert_eq!(deliveries["security_event.published"]["post"]["operationId"], "DeliverSecurityEventPublished");
    }
}
