//! What the Worker takes from the JavaScript runtime: clock, random numbers, and options of the constructors of `Request` and `Response`.

use rds_shared::wire::Timestamp;
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{self, JSON};

/// Number of random values drawn by one call of the generator.
const RANDOM_BATCH: usize = 64;

thread_local! {
    /// Unused random values.
    static UNUSED_RANDOM: RefCell<Vec<[u8; 16]>> = const { RefCell::new(Vec::new()) };
}

#[wasm_bindgen]
extern "C" {
    /// Fills the buffer from the runtime's cryptographic generator.
    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(buffer: &mut [u8]);
}

/// Milliseconds since the Unix epoch, by the clock of this isolate or Durable Object.
pub fn now_millis() -> i64 {
    // `Date.now()` is a whole number far inside the range of `i64`.
    js_sys::Date::now() as i64
}

/// The current instant.
pub fn now() -> Timestamp {
    Timestamp::from_millis(now_millis())
}

/// 16 random bytes. They are drawn in batches, because each call of the generator crosses into JavaScript.
pub fn random() -> [u8; 16] {
    UNUSED_RANDOM.with_borrow_mut(|drawn| {
        if let Some(bytes) = drawn.pop() {
            return bytes;
        }
        let mut bytes = [[0; 16]; RANDOM_BATCH];
        get_random_values(bytes.as_flattened_mut());
        let [first, others @ ..] = bytes;
        drawn.extend(others);
        first
    })
}

/// Status, method and headers of a response or request. They cross into JavaScript as one JSON text, where separate headers would cost
/// two strings and a call each.
#[derive(Serialize)]
pub struct Init<'a, V: AsRef<str>> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) method: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redirect: Option<&'a str>,
    #[serde(serialize_with = "as_map")]
    pub(super) headers: &'a [(&'static str, V)],
}

impl<'a, V: AsRef<str>> Init<'a, V> {
    /// Headers only; if a name occurs twice, the later value counts.
    pub fn with(headers: &'a [(&'static str, V)]) -> Self {
        Init { status: None, method: None, redirect: None, headers }
    }

    /// The JavaScript object that the constructors of `Request` and `Response` take.
    pub fn to_js<T: JsCast>(&self) -> Result<T, JsValue> {
        let text = serde_json::to_string(self).map_err(|error| JsValue::from(error.to_string()))?;
        JSON::parse(&text).map(JsCast::unchecked_into)
    }
}

fn as_map<V: AsRef<str>, S: Serializer>(headers: &&[(&'static str, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(headers.iter().map(|(name, value)| (name, value.as_ref())))
}
