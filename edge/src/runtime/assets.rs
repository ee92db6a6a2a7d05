//! Assets, read through the binding `ASSETS` and kept in JavaScript memory.
//!
//! On Cloudflare the binding is the Worker's static assets, on plain workerd a folder. Both answer a path with the file of that name.

use super::ambient::Init;
use super::calls::digest;
use crate::ports::AssetFault;
use core::cell::RefCell;
use rds_docs::Asset;
use rds_shared::wire::hex;
use std::collections::VecDeque;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use worker::Env;
use worker::js_sys::{Promise, Reflect, Uint8Array};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{AbortSignal, RequestInit, Response};

/// Maximum total size of the kept assets, in bytes: room for all documents, which are about four million bytes, and as much again.
const MAX_KEPT_BYTES: usize = 8 << 20;
/// Timeout of the binding in milliseconds.
const TIMEOUT_MILLIS: u32 = 5_000;

#[wasm_bindgen]
extern "C" {
    type Binding;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Binding, url: &str, init: &RequestInit) -> Result<Promise, JsValue>;
}

/// The kept assets, the one read last first.
#[derive(Debug, Default)]
pub struct Assets(RefCell<VecDeque<(&'static Asset, Uint8Array)>>);

impl Assets {
    /// The content of `asset`, if it is kept. It is never modified, so responses may share it.
    pub fn get(&self, asset: &Asset) -> Option<Uint8Array> {
        self.0.borrow().iter().find(|(known, _)| known.name == asset.name).map(|(_, content)| content.clone())
    }

    /// Keeps the content of `asset`, and drops those that were read first if there is no room.
    pub fn keep(&self, asset: &'static Asset, content: &Uint8Array) {
        let mut kept = self.0.borrow_mut();
        kept.retain(|(known, _)| known.name != asset.name);
        kept.push_front((asset, content.clone()));
        while kept.iter().map(|(known, _)| known.size).fold(0, usize::saturating_add) > MAX_KEPT_BYTES {
            kept.pop_back();
        }
    }
}

/// Reads the content of `asset` and checks it.
pub async fn fetch(env: &Env, asset: &Asset) -> Result<Uint8Array, AssetFault> {
    let binding = Reflect::get(env, &"ASSETS".into()).ok().filter(JsValue::is_object);
    let binding = binding.ok_or_else(|| AssetFault("ASSETS is not bound".to_owned()))?;
    read(binding.unchecked_ref(), asset).await.map_err(|cause| {
        let message = || Reflect::get(&cause, &"message".into()).ok().and_then(|value| value.as_string());
        AssetFault(cause.as_string().or_else(message).unwrap_or_else(|| "unknown".to_owned()))
    })
}

async fn read(binding: &Binding, asset: &Asset) -> Result<Uint8Array, JsValue> {
    let init: RequestInit = Init::<&str> { redirect: Some("manual"), ..Init::with(&[]) }.to_js()?;
    init.set_signal(Some(&AbortSignal::timeout_with_u32(TIMEOUT_MILLIS)));
    let promise = binding.fetch(&format!("http://assets/{}", asset.name), &init)?;
    let response: Response = JsFuture::from(promise).await?.dyn_into()?;
    let buffer = JsFuture::from(response.array_buffer()?).await?;
    let content = Uint8Array::new(&buffer);
    if response.status() != 200 {
        return Err(format!("the binding answered {}", response.status()).into());
    }
    if usize::try_from(content.length()).ok() != Some(asset.size) {
        return Err(format!("it has {} bytes instead of {}", content.length(), asset.size).into());
    }
    if hex(digest(&buffer).await?.as_bytes()) != asset.name {
        return Err("its content does not have the hash that is its name".into());
    }
    Ok(content)
}
