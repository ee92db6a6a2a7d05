//! What the suite cannot see: what happens while the origin fails, beside an answer, and to other copies.

use super::walk::{Asked, Proxy, Said, Upstream};
use crate::cache::Memory;
use crate::cache::fields::Fields;
use rds_shared::wire::Timestamp;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// What is left for later.
type Work = Pin<Box<dyn Future<Output = ()>>>;

/// An origin that gives its answers in a row, and a clock that is set.
#[derive(Clone, Default)]
struct Script {
    answers: Rc<RefCell<VecDeque<Option<Said>>>>,
    asked: Rc<RefCell<Vec<Asked>>>,
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

    async fn ask(&self, asked: &Asked) -> Option<Said> {
        self.asked.borrow_mut().push(asked.clone());
        self.answers.borrow_mut().pop_front().expect("the origin was asked once more than the story has it")
    }

    fn later(&self, work: impl Future<Output = ()> + 'static) {
        self.later.borrow_mut().push(Box::pin(work));
    }
}

struct Story {
    proxy: Proxy<Script>,
    script: Script,
}

impl Story {
    fn new() -> Self {
        let script = Script::default();
        Story { proxy: Proxy { copies: Rc::new(RefCell::new(Memory::default())), upstream: script.clone() }, script }
    }

    /// What the origin says next.
    fn then(&self, status: u16, fields: &[(&str, &str)], body: &str) {
        let said = Said { status, fields: of(fields), body: body.as_bytes().to_vec() };
        self.script.answers.borrow_mut().push_back(Some(said));
    }

    /// The origin does not answer.
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

    fn said(&self, method: &str, target: &str, fields: &[(&str, &str)]) -> Said {
        let asked = Asked {
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

    /// Does what was left for later.
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

/// The scripted world never waits.
fn done<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the scripted world never waits"),
    }
}

fn whole(body: &str) -> (u16, String) {
    (200, body.to_owned())
}

#[test]
fn a_failing_origin_is_stood_in_for_as_long_as_it_said() {
    let story = Story::new();
    story.then(200, &[("cache-control", "max-age=10, stale-if-error=20")], "one");
    assert_eq!(story.get(), whole("one"));
    story.at(10);
    story.then_nothing();
    assert_eq!(story.get(), whole("one"));
    story.then(503, &[], "away");
    assert_eq!(story.get(), whole("one"));
    story.then(404, &[], "gone");
    assert_eq!(story.get(), (404, "gone".to_owned()), "that is no failure");
    story.then_nothing();
    assert_eq!(story.get().0, 502, "and the copy went with it");
}

#[test]
fn what_must_be_confirmed_is_never_served_otherwise() {
    let story = Story::new();
    story.then(200, &[("cache-control", "max-age=10, must-revalidate, stale-if-error=20"), ("etag", "\"a\"")], "one");
    story.get();
    story.at(10);
    story.then_nothing();
    assert_eq!(story.get().0, 502);
    story.then(304, &[("etag", "\"a\""), ("cache-control", "max-age=10")], "");
    assert_eq!(story.get(), whole("one"));
    assert_eq!(story.get(), whole("one"));
    assert_eq!(story.asked(), 3);
}

#[test]
fn a_copy_is_renewed_beside_the_answer_and_by_one_request_alone() {
    let story = Story::new();
    story.then(200, &[("cache-control", "max-age=10, stale-while-revalidate=20"), ("etag", "\"a\"")], "one");
    story.get();
    story.at(12);
    assert_eq!(story.get(), whole("one"));
    assert_eq!(story.asked(), 1, "nobody waits for the origin");
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "two");
    story.afterwards();
    assert_eq!(story.asked(), 2);
    assert_eq!(story.script.asked.borrow()[1].fields.get("if-none-match").as_deref(), Some("\"a\""));
    assert_eq!(story.get(), whole("two"));
}

#[test]
fn a_304_about_another_copy_is_no_answer() {
    let story = Story::new();
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\"")], "one");
    story.get();
    story.at(10);
    story.then(304, &[("etag", "\"b\"")], "");
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "two");
    assert_eq!(story.get(), whole("two"));
    assert_eq!(story.script.asked.borrow()[2].fields.get("if-none-match"), None);
}

#[test]
fn a_change_ends_the_copies_of_what_it_names_and_no_others() {
    let story = Story::new();
    let fresh = [("cache-control", "max-age=100")];
    for target in ["/x", "/y", "/z"] {
        story.then(200, &fresh, target);
        story.ask("GET", target, &[]);
    }
    story.then(201, &[("location", "/y"), ("content-location", "//b.example/z")], "");
    story.ask("POST", "/x", &[]);
    assert_eq!(story.script.asked.borrow()[3].body, b"change");
    story.then(200, &fresh, "new x");
    story.then(200, &fresh, "new y");
    let bodies = ["/x", "/y", "/z"].map(|target| story.ask("GET", target, &[]).1);
    assert_eq!(bodies, ["new x", "new y", "/z"]);
}

#[test]
fn every_variant_has_its_own_life() {
    let story = Story::new();
    let fresh = [("cache-control", "max-age=10"), ("vary", "accept-language"), ("etag", "\"a\"")];
    for language in ["de", "en"] {
        story.then(200, &fresh, language);
        assert_eq!(story.ask("GET", "/x", &[("accept-language", language)]), whole(language));
    }
    story.at(10);
    story.then(200, &fresh, "neu");
    assert_eq!(story.ask("GET", "/x", &[("accept-language", "de")]), whole("neu"));
    assert_eq!(story.ask("GET", "/x", &[("accept-language", "de")]), whole("neu"));
    story.then(304, &[], "");
    assert_eq!(story.ask("GET", "/x", &[("accept-language", "en")]), whole("en"));
}

#[test]
fn who_wants_a_copy_alone_gets_one_or_nothing() {
    let story = Story::new();
    assert_eq!(story.ask("GET", "/x", &[("cache-control", "only-if-cached")]).0, 504);
    story.then(200, &[("cache-control", "max-age=10")], "one");
    story.get();
    assert_eq!(story.ask("GET", "/x", &[("cache-control", "only-if-cached")]), whole("one"));
}

#[test]
fn a_part_is_cut_from_the_whole_and_never_kept() {
    let story = Story::new();
    story.then(206, &[("cache-control", "max-age=10"), ("content-range", "bytes 0-1/4")], "ab");
    assert_eq!(story.ask("GET", "/x", &[("range", "bytes=0-1")]), (206, "ab".to_owned()));
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\"")], "abcd");
    assert_eq!(story.get(), whole("abcd"));
    let part = story.said("GET", "/x", &[("range", "bytes=1-2")]);
    assert_eq!((part.status, &*part.body), (206, &b"bc"[..]));
    assert_eq!(part.fields.get("content-range").as_deref(), Some("bytes 1-2/4"));
    let beyond = story.said("GET", "/x", &[("range", "bytes=4-")]);
    assert_eq!((beyond.status, beyond.fields.get("content-range").as_deref()), (416, Some("bytes */4")));
    assert_eq!(story.ask("GET", "/x", &[("range", "bytes=1-2"), ("if-range", "\"b\"")]), whole("abcd"));
}

#[test]
fn an_answer_to_head_renews_the_copy_or_ends_it() {
    let story = Story::new();
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\"")], "one");
    story.get();
    story.at(10);
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\""), ("a", "new")], "");
    story.said("HEAD", "/x", &[]);
    assert_eq!(story.said("GET", "/x", &[]).fields.get("a").as_deref(), Some("new"));
    story.at(20);
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "");
    story.said("HEAD", "/x", &[]);
    story.then(200, &[], "two");
    assert_eq!(story.get(), whole("two"));
    assert_eq!(story.script.asked.borrow()[3].fields.get("if-none-match"), None, "there is no copy to ask with");
}

#[test]
fn a_caller_with_an_old_copy_of_their_own_is_told_whether_it_still_holds() {
    let story = Story::new();
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"a\""), ("content-type", "text/plain")], "one");
    story.get();
    story.at(10);
    story.then(200, &[("cache-control", "max-age=10"), ("etag", "\"b\"")], "two");
    let said = story.said("GET", "/x", &[("if-none-match", "\"b\"")]);
    assert_eq!((said.status, said.body.len(), said.fields.get("etag").as_deref()), (304, 0, Some("\"b\"")));
    assert_eq!(story.get(), whole("two"));
}
