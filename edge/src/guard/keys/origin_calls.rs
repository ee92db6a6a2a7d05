//! Calls of a key's Durable Object to the origin: look-ups of the key, one at a time, and the delivery of usage every minute until
//! it is acknowledged.

use crate::config::Config;
use crate::guard::DiskFault;
use crate::guard::keys::answers;
use crate::guard::keys::object::Inner;
use crate::guard::keys::state::SETTLING_SECONDS;
use crate::guard::objects::message::KeyAsk;
use crate::guard::objects::single_flight::Ticket;
use crate::origin_link::retry::{CallOutcome, exchange};
use crate::origin_link::signed_call::{CallStamp, OriginAnswer, UnsignedCall};
use crate::ports::NoAnswer;
use crate::runtime::{self, ambient, calls};
use core::time::Duration;
use rds_shared::access::budget::{WINDOW_SECONDS, window_of};
use rds_shared::access::link::{EDGE, KEY_LOOKUP_PATH, KeyLookup, KeyLookupResponse, USAGE};
use rds_shared::route::Method;
use rds_shared::wire::RequestId;
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::JsValue;
use worker::console_error;
use worker::js_sys::{Date, Object};

/// Deliveries of different keys are spread over this many seconds after the minute, to spread the load on the origin.
const SPREAD_SECONDS: i64 = 10;
/// Delay before a failed delivery of usage is repeated.
const RETRY_DELAY: Duration = Duration::from_secs(15);
/// Maximum number of usage batches sent per delivery.
const MAX_BATCHES: usize = 8;

impl Inner {
    /// Looks the key up at the origin in the background, unless a look-up is in flight.
    pub(in crate::guard) fn start_look_up(self: &Rc<Self>, ask: &KeyAsk) {
        let Some(ticket) = self.key_look_up.begin() else { return };
        let look_up = KeyLookup { digest: ask.digest, shown: ask.shown.clone(), text: ask.text.clone() };
        let inner = Rc::clone(self);
        self.state.wait_until(async move { inner.put(look_up, ticket).await });
    }

    async fn put(self: &Rc<Self>, look_up: KeyLookup, ticket: Ticket) {
        let asked_at = ambient::now_millis();
        let answered = self.post(KEY_LOOKUP_PATH, &look_up).await;
        let understood = match &answered {
            Ok(answer) if answer.status == 200 => serde_json::from_slice::<KeyLookupResponse>(&answer.body).ok(),
            _ => None,
        };
        answers::looked_up(self, look_up.digest, understood.as_ref(), asked_at);
        if understood.is_none() {
            let kept = if answers::is_kept(self) { "; using the key's last confirmed record" } else { "" };
            console_error!(
                "{:?}: the origin did not answer the key look-up: {}{kept}",
                look_up.digest,
                describe(&answered)
            );
        }
        drop(ticket);
    }

    /// Sends the usage and schedules the next delivery.
    pub(in crate::guard) async fn flush(&self) {
        self.alarm_is_set.set(false);
        let delivered = self.deliver().await;
        if let Err(fault) = &delivered {
            console_error!("usage: {}", fault.0);
        }
        match (delivered, self.with(|machine, disk| machine.owes(disk))) {
            (Ok(()), Ok(false)) => {}
            (Ok(()), Ok(true)) => self.arrange_delivery(),
            _ => self.set_alarm(RETRY_DELAY),
        }
    }

    /// Sends the usage to the origin, batch by batch.
    async fn deliver(&self) -> Result<(), DiskFault> {
        for _ in 0..MAX_BATCHES {
            let now = ambient::now_millis().div_euclid(1_000);
            let Some(batch) = self.with(|machine, disk| machine.next_batch(disk, now))? else { return Ok(()) };
            let answered = self.post(USAGE, &batch).await;
            match &answered {
                Ok(answer) if answer.status == 204 => {}
                _ => return Err(DiskFault(format!("not delivered: {}", describe(&answered)))),
            }
            self.with(|machine, disk| machine.acknowledged(disk, batch.sequence))?;
        }
        Ok(())
    }

    /// Schedules the delivery of usage for just after the end of this minute.
    pub(in crate::guard) fn arrange_delivery(&self) {
        if self.alarm_is_set.get() {
            return;
        }
        let now = ambient::now_millis();
        let end = window_of(now.div_euclid(1_000)).saturating_add(1).saturating_mul(WINDOW_SECONDS);
        let spread = self.state.id().to_string().bytes().fold(0_i64, |sum, byte| sum.saturating_add(byte.into()));
        let settled = end.saturating_add(SETTLING_SECONDS);
        let at = settled.saturating_add(spread.rem_euclid(SPREAD_SECONDS)).saturating_mul(1_000);
        self.set_alarm(Duration::from_millis(u64::try_from(at.saturating_sub(now)).unwrap_or_default()));
    }

    /// Sets the alarm. It is stored like any row, so no answer leaves the Durable Object before the alarm is durable.
    fn set_alarm(&self, wait: Duration) {
        let at = ambient::now_millis().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX));
        let at = Date::new(&JsValue::from_f64(at as f64));
        let set = self.state.storage().as_raw().set_alarm(at, Object::new());
        self.alarm_is_set.set(set.is_ok());
    }

    pub(in crate::guard) async fn post<M: Serialize>(
        &self,
        target: &str,
        message: &M,
    ) -> Result<OriginAnswer, NoAnswer> {
        let unusable = |cause: &str| NoAnswer::Unreachable(cause.to_owned());
        let config: Rc<Config> = runtime::config(&self.env).ok_or_else(|| unusable("no configuration"))?;
        let body = serde_json::to_vec(message).map_err(|_| unusable("the message cannot be encoded"))?;
        let mut question =
            UnsignedCall::new(Method::Post, target, body, EDGE.to_owned(), RequestId::from_random(ambient::random()));
        // Both calls may be repeated: a look-up only reads, and the origin counts each numbered usage batch once.
        question.is_repeatable = true;
        let seal = || CallStamp { now: ambient::now(), nonce: ambient::random() };
        let send = async |call: &_, limit| calls::call(&config, call, limit).await;
        match exchange(&config.assertion_key, &question, config.origin_timeout, seal, send).await {
            CallOutcome::Answered(answer) => Ok(answer),
            CallOutcome::None(no_answer) => Err(no_answer),
            outcome => Err(NoAnswer::Unreachable(outcome.log_line().unwrap_or_default())),
        }
    }
}

fn describe(answered: &Result<OriginAnswer, NoAnswer>) -> String {
    match answered {
        Ok(answer) => format!("status {}", answer.status),
        Err(cause) => format!("{cause:?}"),
    }
}
