//! Traces: which requests are recorded, and what the origin is told about them.

use crate::world::*;
use rds_shared::wire::traceparent::{SampleRatio, TraceParent};

const OF_CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// What the last call to the origin says about its trace.
fn told(world: &World) -> Option<TraceParent> {
    let call = world.last_call();
    let value = call.headers.iter().find(|(name, _)| *name == "traceparent").map(|(_, value)| value.clone())?;
    Some(TraceParent::parse(&value).expect("a valid traceparent"))
}

/// A world that records every request.
fn recording() -> World {
    let mut world = World::new(|_| Ok(page("{}")));
    world.config.trace_ratio = SampleRatio::parse("1").unwrap();
    world
}

#[test]
fn nothing_is_recorded_unless_a_collector_is_configured() {
    let world = World::new(|_| Ok(page("{}")));
    world.send(&Ask::new("GET", "/v1/chains").with("traceparent", OF_CALLER));
    assert_eq!(told(&world), None);
}

#[test]
fn the_trace_of_a_recorded_request_is_its_request_id_whatever_the_caller_sends() {
    let world = recording();
    let reply = world.send(&Ask::new("GET", "/v1/chains").with("traceparent", OF_CALLER));
    let trace = told(&world).unwrap();
    assert!(trace.sampled);
    assert_eq!(Some(rds_shared::wire::hex(&trace.trace_id).as_str()), reply.header("x-request-id"));
}

#[test]
fn a_callers_trace_is_taken_only_by_choice_and_only_if_it_is_valid() {
    let mut world = recording();
    world.config.trace_callers = true;
    world.send(&Ask::new("GET", "/v1/chains").with("traceparent", OF_CALLER));
    let trace = told(&world).unwrap();
    let of_caller = TraceParent::parse(OF_CALLER).unwrap();
    assert_eq!(trace.trace_id, of_caller.trace_id);
    assert_ne!(trace.span_id, of_caller.span_id, "the origin's parent is the edge's call");
    for bad in ["", "00-0-0-01", &OF_CALLER.replacen("00", "01", 1), &format!("{OF_CALLER}-x")] {
        let reply = world.send(&Ask::new("GET", "/v1/health").with("traceparent", bad));
        let trace = told(&world).unwrap();
        assert_eq!(Some(rds_shared::wire::hex(&trace.trace_id).as_str()), reply.header("x-request-id"), "{bad}");
    }
}

#[test]
fn a_caller_cannot_make_its_request_recorded() {
    let mut world = recording();
    (world.config.trace_ratio, world.config.trace_callers) = (SampleRatio::NONE, true);
    world.send(&Ask::new("GET", "/v1/chains").with("traceparent", OF_CALLER));
    assert_eq!(told(&world), None);
}
