//! Connects the proxy to the Workers runtime.

use super::steps::{Proxy, Question, Reply, Upstream};
use crate::cache::Memory;
use crate::cache::fields::Fields;
use crate::cache::variants::Variants;
use crate::runtime::ambient::now;
use rds_shared::wire::Timestamp;
use std::cell::{OnceCell, RefCell};
use std::future::Future;
use std::rc::Rc;
use worker::js_sys::{self, Array, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::web_sys::{
    AbortSignal, Headers, Request, RequestInit, RequestRedirect, Response, ResponseInit, WorkerGlobalScope,
};
use worker::{Context, Env};

/// The variable that enables the proxy; without it the Worker serves the API.
const VARIABLE: &str = "ANY_ORIGIN";
/// Timeout of the origin, in milliseconds.
const ORIGIN_TIMEOUT_MS: u32 = 10_000;

thread_local! {
    static COPIES: Rc<RefCell<Memory<Variants>>> = Rc::default();
    static ORIGIN: OnceCell<Option<String>> = const { OnceCell::new() };
}

/// The configured origin, as `http://host:port`.
pub(crate) fn origin(env: &Env) -> Option<String> {
    ORIGIN.with(|origin| origin.get_or_init(|| env.var(VARIABLE).ok().map(|value| value.to_string())).clone())
}

pub(crate) async fn serve(origin: &str, request: &Request, context: Context) -> Response {
    let upstream = Runtime { origin: origin.into(), context: Rc::new(context) };
    let proxy = Proxy { copies: COPIES.with(Rc::clone), upstream };
    let said = match asked(request).await {
        Ok(asked) => {
            let said = proxy.answer(&asked).await;
            response(&said, asked.method == "HEAD")
        }
        Err(cause) => Err(cause),
    };
    // A status that the runtime cannot represent becomes 502.
    said.or_else(|_| response(&Reply { status: 502, ..Reply::default() }, true)).unwrap_or_else(|_| Response::error())
}

#[derive(Clone)]
struct Runtime {
    origin: Rc<str>,
    context: Rc<Context>,
}

impl Upstream for Runtime {
    fn host(&self) -> String {
        self.origin.split_once("://").map_or("", |(_, host)| host).to_owned()
    }

    fn now(&self) -> Timestamp {
        now()
    }

    async fn ask(&self, asked: &Question) -> Option<Reply> {
        fetch(&self.origin, asked).await.ok()
    }

    fn later(&self, work: impl Future<Output = ()> + 'static) {
        self.context.wait_until(work);
    }
}

async fn asked(request: &Request) -> Result<Question, JsValue> {
    let url = request.url();
    let after_scheme = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
    let target = after_scheme.find('/').and_then(|slash| after_scheme.get(slash..)).unwrap_or("/");
    let body = match request.body() {
        Some(_) => Uint8Array::new(&JsFuture::from(request.array_buffer()?).await?).to_vec(),
        None => Vec::new(),
    };
    let fields = fields(&request.headers())?.end_to_end().without("host").without("content-length");
    Ok(Question { method: request.method(), target: target.to_owned(), fields, body })
}

async fn fetch(origin: &str, asked: &Question) -> Result<Reply, JsValue> {
    let init = RequestInit::new();
    init.set_method(&asked.method);
    let headers = headers(&asked.fields)?;
    init.set_headers(&headers);
    init.set_redirect(RequestRedirect::Manual);
    init.set_signal(Some(&AbortSignal::timeout_with_u32(ORIGIN_TIMEOUT_MS)));
    if !asked.body.is_empty() {
        init.set_body(&Uint8Array::from(asked.body.as_slice()));
    }
    let global: WorkerGlobalScope = js_sys::global().unchecked_into();
    let url = format!("{origin}{}", asked.target);
    let response: Response = JsFuture::from(global.fetch_with_str_and_init(&url, &init)).await?.dyn_into()?;
    let body = Uint8Array::new(&JsFuture::from(response.array_buffer()?).await?).to_vec();
    Ok(Reply { status: response.status(), fields: fields(&response.headers())?, body })
}

fn response(said: &Reply, without_body: bool) -> Result<Response, JsValue> {
    let init = ResponseInit::new();
    init.set_status(said.status);
    let headers = headers(&said.fields)?;
    init.set_headers(&headers);
    let body = (!without_body && !matches!(said.status, 204 | 304)).then(|| Uint8Array::from(said.body.as_slice()));
    Response::new_with_opt_buffer_source_and_init(body.map(Into::into).as_ref(), &init)
}

fn fields(headers: &Headers) -> Result<Fields, JsValue> {
    let mut lines = Vec::new();
    for pair in js_sys::try_iter(headers)?.into_iter().flatten() {
        let pair: Array = pair?.dyn_into()?;
        lines.extend(pair.get(0).as_string().zip(pair.get(1).as_string()));
    }
    Ok(Fields::of(lines))
}

fn headers(fields: &Fields) -> Result<Headers, JsValue> {
    let headers = Headers::new()?;
    for (name, value) in fields.iter() {
        headers.append(name, value)?;
    }
    Ok(headers)
}
