//! The Worker's way to its objects, those that count and the one that keeps the versions of tags: one call, the message in a header, the reply in a header, and a limit to the wait.

use super::message::{self, AddressTake, KeyMessage, KeyReply};
use super::register;
use crate::epochs::{EpochMessage, EpochReply, object};
use crate::ports::Unreachable;
use crate::runtime::Init;
use core::time::Duration;
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::Verdict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{Promise, Reflect};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{AbortSignal, RequestInit, Response};

#[wasm_bindgen]
extern "C" {
    /// A namespace of objects. The SDK's own binding takes no options, and so no limit to the wait.
    #[derive(Clone)]
    type Namespace;

    #[wasm_bindgen(method, catch, js_name = getByName)]
    fn get_by_name(this: &Namespace, name: &str) -> Result<Stub, JsValue>;

    type Stub;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Stub, url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}

/// The namespaces, as `wrangler.toml` binds them.
#[derive(Clone)]
pub struct Objects {
    keys: Namespace,
    addresses: Namespace,
    epochs: Namespace,
}

impl Objects {
    /// The bindings `KEYS`, `ADDRESSES` and `EPOCHS`; `None` when one is missing.
    pub fn bound(env: &Env) -> Option<Self> {
        let find = |name: &str| {
            let found = Reflect::get(env, &name.into()).ok().filter(JsValue::is_object)?;
            Some(found.unchecked_into::<Namespace>())
        };
        Some(Objects { keys: find("KEYS")?, addresses: find("ADDRESSES")?, epochs: find("EPOCHS")? })
    }

    /// Tells a key's object something.
    pub async fn key(
        &self,
        digest: &KeyDigest,
        message: &KeyMessage,
        limit: Duration,
    ) -> Result<KeyReply, Unreachable> {
        ask(&self.keys, &digest.to_hex(), message, limit).await
    }

    /// Tells the register that has a key something.
    pub async fn register(
        &self,
        digest: &KeyDigest,
        message: &KeyMessage,
        limit: Duration,
    ) -> Result<KeyReply, Unreachable> {
        ask(&self.keys, &register::name(digest), message, limit).await
    }

    /// Charges a request to an address.
    pub async fn address(&self, shard: u8, take: &AddressTake, limit: Duration) -> Result<Verdict, Unreachable> {
        ask(&self.addresses, &format!("a{shard}"), take, limit).await
    }

    /// Tells what was seen of versions, and hears all that are known.
    pub async fn epochs(&self, message: &EpochMessage, limit: Duration) -> Result<EpochReply, Unreachable> {
        ask(&self.epochs, object::NAME, message, limit).await
    }
}

async fn ask<M: Serialize, R: DeserializeOwned>(
    namespace: &Namespace,
    name: &str,
    message: &M,
    limit: Duration,
) -> Result<R, Unreachable> {
    let reply = exchange(namespace, name, &message::write(message), limit).await.map_err(|cause| {
        let text = |name: &str| Reflect::get(&cause, &name.into()).ok().and_then(|value| value.as_string());
        Unreachable(text("message").unwrap_or_else(|| "unknown".to_owned()))
    })?;
    reply.as_deref().and_then(message::read).ok_or_else(|| Unreachable("a reply that cannot be read".to_owned()))
}

async fn exchange(
    namespace: &Namespace,
    name: &str,
    message: &str,
    limit: Duration,
) -> Result<Option<String>, JsValue> {
    let init: RequestInit = Init::with(&[(message::HEADER, message)]).to_js()?;
    init.set_signal(Some(&AbortSignal::timeout_with_u32(u32::try_from(limit.as_millis()).unwrap_or(u32::MAX))));
    let promise = namespace.get_by_name(name)?.fetch("http://guard/", &init)?;
    let response: Response = JsFuture::from(promise).await?.dyn_into()?;
    response.headers().get(message::HEADER)
}
