//! Calls with overrides are repeated with them, and confirm nothing that was not asked.

mod support;

use rds_verifier::read_again::Session;
use rds_verifier::read_again::report::{Outcome, ReadReport};
use serde_json::{Value, json};
use support::{Node, VAULT, call, document, drive, evidence, simulated, word};

fn report(text: &str, mut node: Node) -> ReadReport {
    let mut session = Session::new(text, vec!["node".to_owned()]).unwrap();
    drive(&mut session, 0, &mut node);
    session.report()
}

/// The report on an input that these calls led to.
fn of_calls(calls: Vec<Value>, node: Node) -> ReadReport {
    let mut evidence = evidence();
    evidence["calls"] = json!(calls);
    report(&document(&evidence), node)
}

fn simulating(answer: &str) -> Node {
    Node { simulates: answer.to_owned(), ..Node::honest() }
}

#[test]
fn a_simulated_call_is_repeated_with_its_overrides_and_its_gas() {
    let calls = || vec![call("0x01", json!(word(7))), simulated(json!(word(7)))];
    let read = of_calls(calls(), Node::honest());
    assert_eq!(read.outcome, Outcome::Confirmed, "{read:#?}");
    let at = read.inputs[0].read_at.as_ref().unwrap();
    assert_eq!((at.calls, at.simulated), (2, 1));
    // What the node answers to the same data without overrides does not count.
    let node = simulating(&word(8)).returning("0x05", &word(7)).returning_strangers("0x05", &word(7));
    let read = of_calls(calls(), node);
    assert_eq!(read.outcome, Outcome::Contradicted);
    let finding = &read.inputs[0].findings[0];
    assert_eq!(finding.call.as_ref().map(|it| (it.place, it.method)), Some((1, "eth_call")));
    // Nobody else is asked as whom the service reads: a simulation has one caller.
    assert_eq!(read.endpoints[0].requests, 5);
}

#[test]
fn a_node_that_serves_no_overrides_confirms_and_contradicts_nothing() {
    let read = of_calls(vec![simulated(json!(word(7)))], simulating("0x"));
    assert_eq!(read.outcome, Outcome::NotChecked);
    assert_eq!(read.inputs[0].findings[0].reason, Some("unsupported"));
    let error = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"too many arguments, want at most 2"}}"#;
    let read = of_calls(vec![simulated(json!(word(7)))], Node::honest().failing("eth_call", 200, error));
    assert_eq!(read.outcome, Outcome::NotChecked);
    assert_eq!(read.inputs[0].findings[0].reason, Some("unsupported"), "{read:#?}");
}

#[test]
fn a_simulated_call_of_the_vault_is_no_call_of_the_vault() {
    let mut elsewhere = simulated(json!(word(7)));
    elsewhere["contract"] = json!(VAULT);
    for (calls, outcome) in
        [(vec![simulated(json!(word(7)))], Outcome::NotChecked), (vec![elsewhere], Outcome::NotChecked)]
    {
        let mut evidence = evidence();
        evidence["calls"] = json!(calls);
        let mut vault: Value = serde_json::from_str(&document(&evidence)).unwrap();
        vault["address"] = json!(VAULT);
        let session = Session::new(&vault.to_string(), vec!["node".to_owned()]).unwrap();
        let read = session.report();
        let reasons: Vec<_> = read.inputs[0].findings.iter().map(|it| it.reason).collect();
        assert!(reasons.contains(&Some("other_contract")), "{reasons:?}");
        assert_eq!(read.outcome, outcome);
    }
}

#[test]
fn overrides_that_cannot_be_repeated_exactly_are_named() {
    let words = |many: u64| (0..many).map(|slot| (word(slot), json!(word(1)))).collect::<serde_json::Map<_, _>>();
    let accounts: serde_json::Map<_, _> = (0..9).map(|place| (format!("0x{place:040x}"), json!({}))).collect();
    for (overrides, name) in [
        (json!([]), "calls[0].overrides"),
        (json!({}), "calls[0].overrides"),
        (Value::Object(accounts), "calls[0].overrides"),
        (json!({ "0x12": {} }), "calls[0].overrides.0x12"),
        (json!({ VAULT: { "balance": "0x1" } }), "balance"),
        (json!({ VAULT: { "code": "60" } }), "code"),
        (json!({ VAULT: { "code": format!("0x{}", "60".repeat(24_577)) } }), "code"),
        (json!({ VAULT: { "stateDiff": { "0x01": word(1) } } }), "stateDiff"),
        (json!({ VAULT: { "stateDiff": { word(1): 1 } } }), "stateDiff"),
        (json!({ VAULT: { "stateDiff": words(33) } }), "too many slots"),
        (json!({ VAULT: {}, VAULT.to_uppercase().replace("0X", "0x"): {} }), "twice"),
    ] {
        let mut call = simulated(json!(word(7)));
        call["overrides"] = overrides.clone();
        let read = of_calls(vec![call], Node::honest());
        assert_eq!(read.inputs[0].findings[0].reason, Some("unreadable_evidence"), "{overrides}");
        assert!(read.inputs[0].said.contains(name), "{}", read.inputs[0].said);
    }
    for gas in [json!(0), json!(50_000_001), json!("0x1"), Value::Null] {
        let mut call = simulated(json!(word(7)));
        call["gas"] = gas;
        let read = of_calls(vec![call], Node::honest());
        assert!(read.inputs[0].said.contains("calls[0].gas"), "{}", read.inputs[0].said);
    }
    let mut slot = evidence()["calls"][3].clone();
    slot["overrides"] = json!({ VAULT: {} });
    assert!(of_calls(vec![slot], Node::honest()).inputs[0].said.contains("unless the method is eth_call"));
}
