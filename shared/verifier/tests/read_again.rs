//! What confirms an input, what contradicts it, and what leaves it unchecked.

mod support;

use rds_chain::abi::keccak256;
use rds_chain::hex;
use rds_verifier::read_again::Session;
use rds_verifier::read_again::endpoint::Silence;
use rds_verifier::read_again::report::{Outcome, ReadReport};
use serde_json::{Value, json};
use support::{BLOCK, CHAIN, Node, VAULT, call, document, drive, evidence, word};

fn report(text: &str, nodes: &mut [Node]) -> ReadReport {
    let names = (0..nodes.len()).map(|place| format!("node-{place}")).collect();
    let mut session = Session::new(text, names).unwrap();
    for (place, node) in nodes.iter_mut().enumerate() {
        drive(&mut session, place, node);
    }
    session.report()
}

/// The outcome and the sentence of the only input that has evidence.
fn only(report: &ReadReport) -> (Outcome, &str) {
    let [input] = report.inputs.as_slice() else { panic!("{:?}", report.inputs) };
    (input.outcome, &input.said)
}

/// The verdict of one node on this evidence.
fn verdict(evidence: &Value, node: Node) -> (Outcome, String) {
    let report = report(&document(evidence), &mut [node]);
    let (outcome, said) = only(&report);
    assert_eq!(report.outcome, outcome);
    (outcome, said.to_owned())
}

#[test]
fn every_accepted_form_of_the_answer_is_confirmed() {
    let vault: Value = serde_json::from_str(&document(&evidence())).unwrap();
    for text in [
        json!({ "data": { "vault": vault } }).to_string(),
        json!({ "data": vault }).to_string(),
        json!({ "vault": vault }).to_string(),
        vault.to_string(),
        vault["score_provenance"].to_string(),
        format!("\n{vault}\n"),
    ] {
        let report = report(&text, &mut [Node::honest()]);
        assert_eq!(only(&report).0, Outcome::Confirmed, "{report:#?}");
        assert_eq!((report.outcome, report.stated), (Outcome::Confirmed, 1));
        assert_eq!(report.endpoints[0].chain_id, Some(CHAIN));
    }
}

#[test]
fn answers_about_an_asset_are_read_again_without_those_that_were_withdrawn() {
    let answer = |question: &str, withdrawn_at: Value, evidence: Value| {
        json!({ "dimension": "governance_controls", "question": question, "answer": "eoa", "withdrawn_at": withdrawn_at,
                "as_of": "2026-11-26T00:00:00.000Z", "given_by": "chain:31337", "evidence": evidence })
    };
    let mut stated = answer("holders", Value::Null, Value::Null);
    stated.as_object_mut().unwrap().remove("evidence");
    let mut wrong = evidence();
    wrong["calls"][0]["answer"] = json!(word(8));
    let withdrawn = answer("delay", json!("2026-11-26T01:00:00.000Z"), wrong.clone());
    let asset = |evidence: Value, address: &str| {
        let answers = [answer("upgrade", Value::Null, evidence), stated.clone(), withdrawn.clone()];
        json!({ "data": { "address": address, "answers": { "answers_hash": "00", "answers": answers } } })
    };
    let confirmed = asset(evidence(), VAULT);
    for text in [confirmed.to_string(), confirmed["data"].to_string()] {
        let report = report(&text, &mut [Node::honest()]);
        assert_eq!(only(&report).0, Outcome::Confirmed, "{report:#?}");
        assert_eq!((report.outcome, report.stated, report.score.is_none()), (Outcome::Confirmed, 1, true));
        assert_eq!(
            (report.inputs[0].name.as_str(), report.inputs[0].value.as_str()),
            ("governance_controls.upgrade", "\"eoa\"")
        );
        assert_eq!(report.inputs[0].source.as_deref(), Some("chain:31337"));
    }
    let of = |asset: Value| report(&asset.to_string(), &mut [Node::honest()]).outcome;
    assert_eq!(of(asset(wrong, VAULT)), Outcome::Contradicted);
    assert_eq!(
        of(asset(evidence(), BLOCK.get(..42).unwrap())),
        Outcome::NotChecked,
        "no call asks the asset's contract"
    );
    assert_eq!(of(json!({ "data": { "address": VAULT, "answers": { "answers": [stated] } } })), Outcome::NotChecked);
}

#[test]
fn a_call_that_several_inputs_share_is_asked_once() {
    let mut vault: Value = serde_json::from_str(&document(&evidence())).unwrap();
    vault["score_provenance"]["inputs"]["control"]["signers"] = json!({ "value": "eoa", "evidence": evidence() });
    let mut nodes = [Node::honest()];
    let report = report(&vault.to_string(), &mut nodes);
    assert_eq!((report.outcome, report.inputs.len()), (Outcome::Confirmed, 2));
    let [node] = nodes;
    assert_eq!(node.asked.iter().filter(|method| *method == "eth_call").count(), 3);
    assert_eq!(node.asked.len(), 3 + 5, "chain, block by hash and by number, slot, code");
    assert_eq!(report.endpoints[0].requests, 8);
}

#[test]
fn another_answer_contradicts_and_the_call_is_named() {
    for (place, change) in
        [(0, json!(word(8))), (1, json!("0x")), (2, json!(word(1))), (3, json!(word(5))), (4, json!(word(0)))]
    {
        let mut evidence = evidence();
        evidence["calls"][place]["answer"] = change;
        let report = report(&document(&evidence), &mut [Node::honest()]);
        assert_eq!(only(&report).0, Outcome::Contradicted, "call {place}");
        let [finding] = report.inputs[0].findings.as_slice() else { panic!("{:?}", report.inputs[0].findings) };
        let call = finding.call.as_ref().unwrap();
        assert_eq!((call.place, call.contract.as_str()), (place, VAULT));
        assert_eq!(finding.endpoint.as_deref(), Some("node-0"));
        assert!(finding.said.contains(call.method) && call.node.is_some(), "{finding:?}");
        assert!(report.summary.starts_with("Do not rely on this"), "{}", report.summary);
    }
}

#[test]
fn a_contract_that_reverts_has_the_published_answer_null_alone() {
    let reverts = |answer: Value| {
        let mut evidence = evidence();
        evidence["calls"] = json!([call("0x99", answer)]);
        verdict(&evidence, Node::honest())
    };
    assert_eq!(reverts(Value::Null).0, Outcome::Confirmed);
    let report = {
        let mut evidence = evidence();
        evidence["calls"] = json!([call("0x99", json!(word(7)))]);
        report(&document(&evidence), &mut [Node::honest()])
    };
    assert_eq!(only(&report).0, Outcome::Contradicted);
    let node = report.inputs[0].findings[0].call.as_ref().unwrap().node.as_deref();
    assert_eq!(node, Some("the contract reverted with 0x08c379a0"));
    // The service takes less than a word for no answer, and the first word for the answer.
    let mut short = evidence();
    short["calls"] = json!([call("0x02", Value::Null)]);
    assert_eq!(verdict(&short, Node::honest().returning("0x02", "0x01")).0, Outcome::Confirmed);
    assert_eq!(verdict(&short, Node::honest().returning("0x02", &word(1))).0, Outcome::Contradicted);
    let long = format!("{}00", word(7));
    assert_eq!(verdict(&evidence(), Node::honest().returning("0x01", &long)).0, Outcome::Confirmed);
}

#[test]
fn an_answer_that_only_the_services_reader_gets_is_confirmed_with_a_remark() {
    let report = report(&document(&evidence()), &mut [Node::honest().returning_strangers("0x01", &word(9))]);
    assert_eq!(only(&report).0, Outcome::Confirmed);
    let [remark] = report.inputs[0].findings.as_slice() else { panic!("{:?}", report.inputs[0].findings) };
    assert_eq!((remark.outcome, remark.call.as_ref().unwrap().place), (Outcome::Confirmed, 0));
    assert!(remark.said.contains("other callers otherwise"), "{}", remark.said);
}

#[test]
fn a_block_that_is_not_on_the_nodes_chain_contradicts() {
    let (outcome, said) = verdict(&evidence(), Node { canonical: format!("0x{}", "cc".repeat(32)), ..Node::honest() });
    assert_eq!(outcome, Outcome::Contradicted);
    assert!(said.contains("not part of the endpoint's chain") && said.contains("0xcccc"), "{said}");
    // The same for a hash that the node never saw.
    let mut invented = evidence();
    invented["block_hash"] = json!(format!("0x{}", "ab".repeat(32)));
    assert_eq!(verdict(&invented, Node::honest()).0, Outcome::Contradicted);
    let mut renumbered = evidence();
    renumbered["block_number"] = json!(7);
    let (outcome, said) = verdict(&renumbered, Node::honest());
    assert_eq!(outcome, Outcome::Contradicted);
    assert!(said.contains("has the number 16, not 7"), "{said}");
}

#[test]
fn a_failure_of_the_node_never_contradicts() {
    let failing = |method: &str, status: u16, body: &str| Node::honest().failing(method, status, body);
    let error = |code: i64, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":ID,"error":{{"code":{code},"message":"{message}"}}}}"#)
    };
    let all = "*";
    for (node, reason, word) in [
        (Node { chain: 1, ..Node::honest() }, "other_chain", "its id is 1"),
        (failing("eth_getBlockByHash", 200, r#"{"id":ID,"result":null}"#), "damaged", "contradicts itself"),
        (Node { head: 3, ..Node::honest() }, "unknown_block", "does not have this block"),
        (failing("eth_call", 200, &error(-32_000, "missing trie node 12")), "no_state", "archive node"),
        (failing("eth_call", 200, r#"{"id":ID,"result":null}"#), "no_state", "archive node"),
        (failing("eth_getCode", 200, &error(-32_000, "execution reverted")), "not_answered", "HTTP 200"),
        (failing("eth_call", 429, "slow down"), "rate_limited", "limits the rate"),
        (failing(all, 429, ""), "rate_limited", "limits the rate"),
        (failing(all, 200, "<html>hello</html>"), "not_answered", "HTTP 200"),
        (failing(all, 503, "<html>busy</html>"), "not_answered", "HTTP 503"),
        (failing("eth_call", 200, &error(-32_000, "out of gas")), "gas", "less gas"),
        (failing("eth_call", 200, &error(-32_602, "invalid argument 1: hex string")), "unsupported", "EIP-1898"),
        (failing(all, 401, ""), "forbidden", "key"),
        (failing("eth_call", 200, r#"{"id":ID,"result":"0x0"}"#), "damaged", "form"),
        (failing("eth_call", 200, r#"{"id":ID,"result":{}}"#), "damaged", "form"),
        (failing("eth_chainId", 200, r#"{"id":ID,"result":"31337"}"#), "damaged", "form"),
        (failing("eth_getBlockByNumber", 200, r#"{"id":ID,"result":{"number":"0x10"}}"#), "damaged", "form"),
    ] {
        let report = report(&document(&evidence()), &mut [node]);
        let (outcome, said) = only(&report);
        assert_eq!(outcome, Outcome::NotChecked, "{reason}: {said}");
        assert_eq!(report.inputs[0].findings[0].reason, Some(reason), "{said}");
        assert!(said.contains(word), "{reason}: {said}");
    }
}

#[test]
fn a_node_that_does_not_answer_is_given_up_soon() {
    for (why, reason) in
        [(Silence::Timeout, "timeout"), (Silence::Unreachable, "unreachable"), (Silence::TooLarge, "too_large")]
    {
        let many: Vec<Value> = (0..900).map(|place| call(&format!("0x{place:08x}"), json!(word(7)))).collect();
        let mut evidence = evidence();
        evidence["calls"] = json!(many);
        let mut nodes = [Node { silent: Some(("eth_call", why)), ..Node::honest() }];
        let report = report(&document(&evidence), &mut nodes);
        assert_eq!(only(&report).0, Outcome::NotChecked);
        assert_eq!(report.inputs[0].findings[0].reason, Some(reason));
        assert_eq!(report.inputs[0].findings.len(), 1, "one reason, not one for each call");
        let asked = nodes[0].asked.len();
        // An answer that is too large says nothing about the other answers.
        assert_eq!(asked < 20, why != Silence::TooLarge, "{asked}");
    }
}

#[test]
fn a_limited_rate_is_waited_for_and_not_longer_than_ten_seconds() {
    let mut session = Session::new(&document(&evidence()), vec!["node".to_owned()]).unwrap();
    let mut waits = |retry_after: Option<&str>| {
        let request = session.next(0).unwrap();
        session.answered(0, request.id, 429, retry_after, "")
    };
    assert_eq!([waits(None), waits(None), waits(Some("7"))], [1_000, 2_000, 7_000]);
    assert_eq!(waits(None), 0, "given up");
    assert_eq!(session.next(0), None);
    let mut session = Session::new(&document(&evidence()), vec!["node".to_owned()]).unwrap();
    let request = session.next(0).unwrap();
    assert_eq!(session.answered(0, request.id, 429, Some("3600"), ""), 0, "an hour is not waited");
    assert_eq!(only(&session.report()).0, Outcome::NotChecked);
}

#[test]
fn every_endpoint_must_confirm() {
    let honest = Node::honest;
    let lying = || honest().returning("0x01", &word(9));
    let pruned = || {
        honest().failing("eth_call", 200, r#"{"id":ID,"error":{"code":4444,"message":"pruned history unavailable"}}"#)
    };
    for (mut nodes, outcome) in [
        (vec![honest(), honest()], Outcome::Confirmed),
        (vec![honest(), pruned()], Outcome::NotChecked),
        (vec![honest(), lying()], Outcome::Contradicted),
        (vec![lying(), pruned(), honest()], Outcome::Contradicted),
    ] {
        let report = report(&document(&evidence()), &mut nodes);
        assert_eq!(report.outcome, outcome, "{}", report.summary);
    }
}

#[test]
fn before_the_answers_everything_is_unchecked() {
    let session = Session::new(&document(&evidence()), vec!["node".to_owned()]).unwrap();
    assert_eq!(session.report().inputs[0].findings[0].reason, Some("stopped"));
    assert_eq!((session.progress().done, session.progress().of), (0, 8));
}

#[test]
fn evidence_that_cannot_be_repeated_is_named_and_not_confirmed() {
    for (pointer, value, word) in [
        ("/chain_id", json!("1"), "chain_id"),
        ("/chain_id", json!(9_007_199_254_740_992_u64), "chain_id"),
        ("/block_number", json!(-1), "block_number"),
        ("/block_hash", json!("0x12"), "block_hash"),
        ("/calls", json!({}), "calls"),
        ("/calls", json!([]), "nothing to repeat"),
        ("/calls/0/method", json!("eth_sendTransaction"), "calls[0].method"),
        ("/calls/0/contract", json!("vault"), "calls[0].contract"),
        ("/calls/0/data", json!("0x123"), "calls[0].data"),
        ("/calls/0/data", Value::Null, "calls[0].data"),
        ("/calls/0/answer", json!("7"), "calls[0].answer"),
        ("/calls/3/data", json!("0x00"), "calls[3].data"),
        ("/calls/3/answer", Value::Null, "calls[3].answer"),
        ("/calls/4/data", json!("0x00"), "calls[4].data"),
        ("/calls/4/answer", json!("0x00"), "calls[4].answer"),
        ("/agreed", json!(4), "greater than `asked`"),
        ("/asked", Value::Null, "asked"),
    ] {
        let mut changed = evidence();
        *changed.pointer_mut(pointer).unwrap() = value;
        let (outcome, said) = verdict(&changed, Node::honest());
        assert_eq!(outcome, Outcome::NotChecked, "{pointer}");
        assert!(said.contains(word), "{pointer}: {said}");
    }
    for member in ["answer", "contract", "method"] {
        let mut cut = evidence();
        cut["calls"][1].as_object_mut().unwrap().remove(member);
        let (outcome, said) = verdict(&cut, Node::honest());
        assert_eq!(outcome, Outcome::NotChecked);
        assert!(said.contains(&format!("calls[1].{member}")), "{said}");
    }
}

#[test]
fn a_text_without_a_provenance_is_refused_with_the_reason() {
    let refused = |text: &str| Session::new(text, vec!["node".to_owned()]).unwrap_err().0;
    for (text, word) in [
        ("", "not JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "no `score_provenance`"),
        (r#"{"data":{"vault":{"score_provenance":null}}}"#, "no `score_provenance`"),
        (r#"{"score_provenance":{"inputs":{},"inputs":{}}}"#, "it has `inputs` twice"),
        (r#"{"inputs":{"caps":{"a":{"value":1,"value":2}}}}"#, "it has `value` twice"),
    ] {
        assert!(refused(text).contains(word), "{text}: {}", refused(text));
    }
    let mut many = evidence();
    many["calls"] = json!((0..5_001).map(|place| call(&format!("0x{place:08x}"), json!("0x"))).collect::<Vec<_>>());
    assert!(refused(&document(&many)).contains("more than 5000 different calls"));
    for endpoints in [0, 9] {
        let names = vec!["node".to_owned(); endpoints];
        assert!(Session::new(&document(&evidence()), names).unwrap_err().0.contains("1 to 8 endpoints"));
    }
}

#[test]
fn a_score_without_evidence_is_not_called_confirmed() {
    let report = report(r#"{"inputs":{"caps":{"tvl_usd":{"value":1,"source":"adapter"}}}}"#, &mut [Node::honest()]);
    assert_eq!((report.outcome, report.stated, report.inputs.len()), (Outcome::NotChecked, 1, 0));
}

#[test]
fn code_is_compared_by_its_hash() {
    assert_eq!(evidence()["calls"][4]["answer"], json!(hex::encode(&keccak256(&[0x60, 0x01]))));
    assert_eq!(BLOCK.len(), 66);
}

/// A call of a function without arguments, or with one word, and its answer.
fn function(contract: &str, signature: &str, answer: &str) -> Value {
    let selector = hex::encode(&keccak256(signature.as_bytes())[..4]);
    json!({ "method": "eth_call", "contract": contract, "data": selector, "answer": answer })
}

/// What is said about an input with this value and these calls, none of which a node has confirmed.
fn derived(group: &str, name: &str, value: Value, calls: Vec<Value>) -> Vec<Option<&'static str>> {
    let mut evidence = evidence();
    evidence["calls"] = json!(calls);
    let inputs = json!({ group: { name: { "value": value, "evidence": evidence } } });
    let vault = json!({ "address": VAULT, "score_provenance": { "inputs": inputs } });
    let report = Session::new(&vault.to_string(), vec!["node".to_owned()]).unwrap().report();
    report.inputs[0].findings.iter().filter(|it| it.endpoint.is_none()).map(|it| it.reason).collect()
}

#[test]
fn a_value_that_does_not_follow_from_its_answers_is_contradicted() {
    let (token, feed) = ("0x00000000000000000000000000000000000000bb", "0x00000000000000000000000000000000000000cc");
    let round = format!("{}{}{}", word(9), &word(250_000_000)[2..], &word(0)[2..].repeat(3));
    let calls = vec![
        function(VAULT, "totalAssets()", &word(4_000_123_456)),
        function(token, "decimals()", &word(6)),
        function(feed, "latestRoundData()", &round),
        function(feed, "decimals()", &word(8)),
    ];
    let tvl = |value: Value, calls: &[Value]| derived("caps", "tvl_usd", value, calls.to_vec());
    for right in [10_000, 10_001] {
        assert!(tvl(json!(right), &calls).is_empty(), "4000.123456 at 2.50 is 10000.31: {right}");
    }
    for wrong in [json!(9_998), json!(10_002), json!(0)] {
        assert_eq!(tvl(wrong, &calls), [Some("other_value")]);
    }
    // Without the price nothing follows.
    assert!(tvl(json!(1), &calls[..2]).is_empty() && tvl(json!(null), &calls).is_empty());
    let held =
        |amount| vec![function(VAULT, "totalAssets()", &word(7)), function(token, "balanceOf(address)", &word(amount))];
    for (value, amount, is_right) in
        [("observed", 7, true), ("observed", 6, false), ("unavailable", 6, true), ("unavailable", 8, false)]
    {
        let said = derived("asset", "exposures_status", json!(value), held(amount));
        assert_eq!(said.is_empty(), is_right, "{value} {amount}");
    }
}

#[test]
fn evidence_about_another_contract_confirms_nothing() {
    let mut vault: Value = serde_json::from_str(&document(&evidence())).unwrap();
    vault["address"] = json!(VAULT.to_uppercase().replace("0X", "0x"));
    assert_eq!(only(&report(&vault.to_string(), &mut [Node::honest()])).0, Outcome::Confirmed);
    vault["address"] = json!("0x00000000000000000000000000000000000000dd");
    let report = report(&vault.to_string(), &mut [Node::honest()]);
    assert_eq!(only(&report).0, Outcome::NotChecked);
    assert_eq!(report.inputs[0].findings[0].reason, Some("other_contract"));
}
