//! The Worker's calls to its Durable Objects. Message and reply each travel in one header, and every call has a timeout.

use crate::guard::known_keys::state;
use crate::guard::objects::message::{self, AddressTake, KeyMessage, KeyReply};
use crate::ports::Unreachable;
use crate::replica::message::{ReplicaMessage, ReplicaReply, object_name};
use crate::runtime::ambient::Init;
use crate::tag_versions::{OBJECT_NAME, TagMessage, TagReply};
use core::time::Duration;
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::Verdict;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{Promise, Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{AbortSignal, RequestInit, Response};

#[wasm_bindgen]
extern "C" {
    /// A Durable Object namespace. The SDK's own binding takes no options and thus no timeout.
    #[derive(Clone)]
    type Namespace;

    #[wasm_bindgen(method, catch, js_name = getByName)]
    fn get_by_name(this: &Namespace, name: &str) -> Result<Stub, JsValue>;

    type Stub;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Stub, url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}

/// The namespaces bound in `wrangler.toml`.
#[derive(Clone)]
pub struct Objects {
    keys: Namespace,
    addresses: Namespace,
    tag_versions: Namespace,
    replica: Option<Namespace>,
}

impl Objects {
    /// The bindings `KEYS`, `ADDRESSES` and `EPOCHS`, and `REPLICA` if it is there; `None` if one of the others is missing.
    pub fn bound(env: &Env) -> Option<Self> {
        let find = |name: &str| {
            let found = Reflect::get(env, &name.into()).ok().filter(JsValue::is_object)?;
            Some(found.unchecked_into::<Namespace>())
        };
        Some(Objects {
            keys: find("KEYS")?,
            addresses: find("ADDRESSES")?,
            tag_versions: find("EPOCHS")?,
            replica: find("REPLICA"),
        })
    }

    /// Whether there is a binding for the replica.
    pub fn has_replica(&self) -> bool {
        self.replica.is_some()
    }

    /// Sends a message to a Durable Object of the replica. Its reply is in the header, and what was asked for in the body.
    pub async fn replica(
        &self,
        number: u32,
        message: &ReplicaMessage,
        limit: Duration,
    ) -> Result<(ReplicaReply, Vec<u8>), Unreachable> {
        let namespace = self.replica.as_ref().ok_or_else(|| Unreachable("it is not bound".to_owned()))?;
        let asking = async {
            let response = send(namespace, &object_name(number), &message::write(message), limit).await?;
            let buffer = JsFuture::from(response.array_buffer()?).await?;
            Ok((response.headers().get(message::HEADER)?, Uint8Array::new(&buffer).to_vec()))
        };
        let (reply, body) = asking.await.map_err(unreachable)?;
        let reply = reply.ok_or_else(|| Unreachable("it has nothing yet".to_owned()))?;
        let reply = message::read(&reply).ok_or_else(|| Unreachable("the reply cannot be read".to_owned()))?;
        Ok((reply, body))
    }

    /// Sends a message to a key's Durable Object.
    pub async fn key(
        &self,
        digest: &KeyDigest,
        message: &KeyMessage,
        limit: Duration,
    ) -> Result<KeyReply, Unreachable> {
        ask(&self.keys, &digest.to_hex(), message, limit).await
    }

    /// Sends a message to the register of a key.
    pub async fn register(
        &self,
        digest: &KeyDigest,
        message: &KeyMessage,
        limit: Duration,
    ) -> Result<KeyReply, Unreachable> {
        ask(&self.keys, &state::name(digest), message, limit).await
    }

    /// Charges a request to an address.
    pub async fn address(&self, shard: u8, take: &AddressTake, limit: Duration) -> Result<Verdict, Unreachable> {
        ask(&self.addresses, &format!("a{shard}"), take, limit).await
    }

    /// Reports known tag versions and returns all versions known to the Durable Object.
    pub async fn tag_versions(&self, message: &TagMessage, limit: Duration) -> Result<TagReply, Unreachable> {
        ask(&self.tag_versions, OBJECT_NAME, message, limit).await
    }
}

async fn ask<M: Serialize, R: DeserializeOwned>(
    namespace: &Namespace,
    name: &str,
    message: &M,
    limit: Duration,
) -> Result<R, Unreachable> {
    let asking = async { send(namespace, name, &message::write(message), limit).await?.headers().get(message::HEADER) };
    let reply = asking.await.map_err(unreachable)?;
    reply.as_deref().and_then(message::read).ok_or_else(|| Unreachable("the reply cannot be read".to_owned()))
}

fn unreachable(cause: JsValue) -> Unreachable {
    let text = Reflect::get(&cause, &"message".into()).ok().and_then(|value| value.as_string());
    Unreachable(text.unwrap_or_else(|| "unknown".to_owned()))
}

async fn send(namespace: &Namespace, name: &str, message: &str, limit: Duration) -> Result<Response, JsValue> {
    let init: RequestInit = Init::with(&[(message::HEADER, message)]).to_js()?;
    init.set_signal(Some(&AbortSignal::timeout_with_u32(u32::try_from(limit.as_millis()).unwrap_or(u32::MAX))));
    let promise = namespace.get_by_name(name)?.fetch("http://guard/", &init)?;
    JsFuture::from(promise).await?.dyn_into()
}
