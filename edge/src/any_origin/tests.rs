//! Behaviour that the conformance suite cannot observe: origin failures, background refreshes and effects on other cached responses.

use super::steps::{Proxy, Question, Reply, Upstream};
use crate::cache::Memory;
use crate::cache::fields::Fields;
use rds_shared::wire::Timestamp;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Work deferred until after the answer.
type Work = Pin<Box<dyn Future<Output = ()>>>;

/// An origin with scripted answers, and a clock set by the test.
#[derive(Clone, Default)]
struct Script {
    answers: Rc<RefCell<VecDeque<Option<Reply>>>>,
    asked: Rc<RefCell<Vec<Question>>>,
    later: Rc<RefCell<Vec<Work>>>,
    seconds: Rc<Cell<i64>>,
}

impl Upstream for Script {
    fn host(&self) -> String {
        "a.example".to_owned()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(1_795_219_200 + self.seconds.get())
    }

    async fn ask(&self, asked: &Question) -> Option<Reply> {
        self.asked.borrow_mut().push(asked.clone());
        self.answers.borrow_mut().pop_front().expect("the origin was called more often than scripted")
    }

    fn later(&self, work: impl Future<Output = ()> + 'static) {
        self.later.borrow_mut().push(Box::pin(work));
    }
}

struct Scenario {
    proxy: Proxy<Script>,
    script: Script,
}

impl Scenario {
    fn new() -> Self {
        let script = Script::default();
        Scenario { proxy: Proxy { copies: Rc::new(RefCell::new(Memory::default())), upstream: script.clone() }, script }
    }

    /// Scripts the origin's next answer.
    fn then(&self, status: u16, fields: &[(&str, &str)], body: &str) {
        let said = Reply { status, fields: of(fields), body: body.as_bytes().to_vec() };
        self.script.answers.borrow_mut().push_back(Some(said));
    }

    /// Scripts a call without an answer.
    fn then_nothing(&self) {
        self.script.answers.borrow_mut().push_back(None);
    }

    fn at(&self, seconds: i64) {
        self.script.seconds.set(seconds);
    }

    fn ask(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let said = self.said(method, target, fields);
        (said.status, String::from_utf8(said.body).unwrap())
    }

    fn said(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> Reply {
        let asked = Question {
            method: method.to_owned(),
            target: target.to_owned(),
            fields: of(fields),
            body: if method == "POST" { b"change".to_vec() } else { Vec::new() },
        };
        done(self.proxy.answer(&asked))
    }

    fn get(&self) -> (u16, String) {
        self.ask("GET", "/x", &[])
    }

    /// Runs the deferred work.
    fn afterwards(&self) {
        let works: Vec<_> = self.script.later.borrow_mut().drain(..).collect();
        works.into_iter().for_each(done);
    }

    fn asked(&self) -> usize {
        self.script.asked.borrow().len()
    }
}

fn of(fields: &[(&str, &str)]) -> Fields {
    Fields::of(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

/// Polls once: the scripted upstream is always ready.
fn done<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the scripted upstream is always ready"),
    }
}

fn whole(body: &str) -> (u16, String) {
    (200, body.to_owned())
}

#[test]
fn stale_responses_are_served_within_stale_if_error() {
    let scenario = Scenario::new();
    scenario.then(200, &[("cache-control", "max-age=10, stale-if-error=20")], "one");
    assert_eq!(scenario.get(), whole("one"));
    scenario.at(10);
    scenario.then_nothing();
    assert_eq!(scenario.get(), whole("one"));
    scenario.then(503, &[], "away");
    assert_eq!(scenario.get(), whole("one"));
    scenario.then(404, &[], "gone");
    assert_eq!(scenario.get(), (404, "gone".to_owned()), "a 404 is not a failure");
    scenario.then_nothing();
    assert_eq!(scenario.get().0, 502, "the cached response was removed");
}

#[test]
fn a_must_revalidate_response_is_never_served_stale() {
    let scenario = Scenario::new();
    scenario.then(
        200,
        &[("cache-control", "max-age=10, must-revalidate, stale-if-error=20"), ("etag", "\"a\"")],
        "one",
    );
    scenario.get();
    scenario.at(10);
    scenario.then_nothing();
    assert_eq!(scenario.get().0, 502);
    scenario.then(304, &[("etag", "\"a\""), ("cache-control", "max-age=10")], "");
    assert_eq!(scenario.get(), whole("one"));
    assert_eq!(scenario.get(), whole("one"));
    assert_eq!(scenario.asked(), 3);
}

#[test]
fn stale_while_revalidate_starts_one_background_refresh() {
    let scenario = Scenario::new();
    scenario.then(200, &[("cache-control", "max-age=10, stale-while-revalidate=20"), ("etag", "\"a\"")], "one");
    scenario.get();
    scenario.at(12);
    assert_eq!(scenario.get(), whole("one"));
    assert_eq!(scenario.asked(), 1, "nobody waits for the origin");
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "two");
    scenario.afterwards();
    assert_eq!(scenario.asked(), 2);
    assert_eq!(scenario.script.asked.borrow()[1].fields.get("if-none-match").as_deref(), Some("\"a\""));
    assert_eq!(scenario.get(), whole("two"));
}

#[test]
fn a_304_with_another_etag_causes_a_full_request() {
    let scenario = Scenario::new();
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\"")], "one");
    scenario.get();
    scenario.at(10);
    scenario.then(304, &[("etag", "\"b\"")], "");
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "two");
    assert_eq!(scenario.get(), whole("two"));
    assert_eq!(scenario.script.asked.borrow()[2].fields.get("if-none-match"), None);
}

#[test]
fn a_write_invalidates_only_the_targets_it_names() {
    let scenario = Scenario::new();
    let fresh = [("cache-control", "max-age=100")];
    for target in ["/x", "/y", "/z"] {
        scenario.then(200, &fresh, target);
        scenario.ask("GET", target, &[]);
    }
    scenario.then(201, &[("location", "/y"), ("content-location", "//b.example/z")], "");
    scenario.ask("POST", "/x", &[]);
    assert_eq!(scenario.script.asked.borrow()[3].body, b"change");
    scenario.then(200, &fresh, "new x");
    scenario.then(200, &fresh, "new y");
    let bodies = ["/x", "/y", "/z"].map(|target| scenario.ask("GET", target, &[]).1);
    assert_eq!(bodies, ["new x", "new y", "/z"]);
}

#[test]
fn each_variant_expires_separately() {
    let scenario = Scenario::new();
    let fresh = [("cache-control", "max-age=10"), ("vary", "accept-language"), ("etag", "\"a\"")];
    for language in ["de", "en"] {
        scenario.then(200, &fresh, language);
        assert_eq!(scenario.ask("GET", "/x", &[("accept-language", language)]), whole(language));
    }
    scenario.at(10);
    scenario.then(200, &fresh, "neu");
    assert_eq!(scenario.ask("GET", "/x", &[("accept-language", "de")]), whole("neu"));
    assert_eq!(scenario.ask("GET", "/x", &[("accept-language", "de")]), whole("neu"));
    scenario.then(304, &[], "");
    assert_eq!(scenario.ask("GET", "/x", &[("accept-language", "en")]), whole("en"));
}

#[test]
fn only_if_cached_gets_a_cached_response_or_504() {
    let scenario = Scenario::new();
    assert_eq!(scenario.ask("GET", "/x", &[("cache-control", "only-if-cached")]).0, 504);
    scenario.then(200, &[("cache-control", "max-age=10")], "one");
    scenario.get();
    assert_eq!(scenario.ask("GET", "/x", &[("cache-control", "only-if-cached")]), whole("one"));
}

#[test]
fn ranges_are_served_from_whole_responses_and_parts_are_not_cached() {
    let scenario = Scenario::new();
    scenario.then(206, &[("cache-control", "max-age=10"), ("content-range", "bytes 0-1/4")], "ab");
    assert_eq!(scenario.ask("GET", "/x", &[("range", "bytes=0-1")]), (206, "ab".to_owned()));
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\"")], "abcd");
    assert_eq!(scenario.get(), whole("abcd"));
    let part = scenario.said("GET", "/x", &[("range", "bytes=1-2")]);
    assert_eq!((part.status, &*part.body), (206, &b"bc"[..]));
    assert_eq!(part.fields.get("content-range").as_deref(), Some("bytes 1-2/4"));
    let beyond = scenario.said("GET", "/x", &[("range", "bytes=4-")]);
    assert_eq!((beyond.status, beyond.fields.get("content-range").as_deref()), (416, Some("bytes */4")));
    assert_eq!(scenario.ask("GET", "/x", &[("range", "bytes=1-2"), ("if-range", "\"b\"")]), whole("abcd"));
}

#[test]
fn a_head_response_refreshes_or_invalidates_the_cached_response() {
    let scenario = Scenario::new();
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\"")], "one");
    scenario.get();
    scenario.at(10);
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\""), ("a", "new")], "");
    scenario.said("HEAD", "/x", &[]);
    assert_eq!(scenario.said("GET", "/x", &[]).fields.get("a").as_deref(), Some("new"));
    scenario.at(20);
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "");
    scenario.said("HEAD", "/x", &[]);
    scenario.then(200, &[], "two");
    assert_eq!(scenario.get(), whole("two"));
    assert_eq!(
        scenario.script.asked.borrow()[3].fields.get("if-none-match"),
        None,
        "nothing is cached, so the request is unconditional"
    );
}

#[test]
fn a_caller_who_has_the_new_version_gets_304_while_the_cache_is_updated() {
    let scenario = Scenario::new();
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\""), ("content-type", "text/plain")], "one");
    scenario.get();
    scenario.at(10);
    scenario.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "two");
    let said = scenario.said("GET", "/x", &[("if-none-match", "\"b\"")]);
    assert_eq!((said.status, said.body.len(), said.fields.get("etag").as_deref()), (304, 0, Some("\"b\"")));
    assert_eq!(scenario.get(), whole("two"));
}
