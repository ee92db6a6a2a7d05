//! Identifies the caller, charges the request to a rate limit, and checks access to the route.
//!
//! The route's rate-limit class determines whether a request is charged at the Durable Object of its key, of its address, or both
//! ([`rds_shared::access::budget::charge`]).

use crate::guard::addresses::denials::SpentKey;
use crate::guard::addresses::state::{Place, place};
use crate::guard::keys::subclient::Subclient;
use crate::guard::objects::message::{AddressTake, Around, KeyAsk, KeyMessage, KeyReply, Take};
use crate::key_lookup::Registered;
use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use rds_shared::access::budget::{
    AddressBudget, Charge, Payer, Verdict, charge, charges_neighbourhood, either, key_limit,
};
use rds_shared::access::credential::{CredentialText, Kind};
use rds_shared::access::{ClientNet, KeyDigest, KeyRecord, Presented, Principal, forwarded, gate};
use rds_shared::route::{Access, Method, Route};
use rds_shared::wire::ApiError;
use rds_shared::wire::headers::{CLIENT_IP, IDEMPOTENCY_KEY, LAST_EVENT_ID, SUBCLIENT};

/// The caller, and the rate-limit verdict.
#[derive(Debug)]
pub struct Identified {
    /// The verdict that the rate-limit headers report; `None` if no limit was checked.
    pub verdict: Option<Verdict>,
    /// The caller, if they may use the route.
    pub outcome: Result<Principal, ApiError>,
}

impl Identified {
    fn failed(error: ApiError) -> Self {
        Identified { verdict: None, outcome: Err(error) }
    }
}

/// A valid key, as known to its Durable Object.
struct Holder {
    record: KeyRecord,
    /// The verdict of the key's own limit, if it has one.
    verdict: Option<Verdict>,
}

/// The result of checking a presented key.
enum Judged {
    Holds(Holder),
    Rejected,
    /// The key could not be checked.
    Unknown,
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Identifies the caller of `route`, charges the request, and admits or refuses it.
    pub async fn identify(&self, route: &Route) -> Identified {
        if cfg!(feature = "unmetered") {
            return Identified { verdict: None, outcome: Ok(self.keyless()) };
        }
        let authorization = self.inbound.header("authorization");
        match Presented::read(authorization.as_deref()) {
            Presented::Nothing => {
                let payer = if self.own_origin.is_some() { Payer::FirstParty } else { Payer::Anonymous };
                self.charged_to_address(route, payer, self.keyless()).await
            }
            Presented::Key(text) => self.keyed(route, text, Kind::ApiKey).await,
            // On any other route an index token is an invalid credential, whether or not it is live.
            Presented::IndexToken(text) if route.access == Access::Index => {
                self.keyed(route, text, Kind::IndexToken).await
            }
            Presented::Malformed | Presented::IndexToken(_) => self.rejected(route).await,
        }
    }

    fn keyless(&self) -> Principal {
        self.own_origin.map_or(Principal::Anonymous, |origin| Principal::FirstParty { origin: origin.to_owned() })
    }

    /// The caller's headers to forward to the origin, or a 400 that names the invalid one. Writes forward the idempotency key; streams
    /// forward the last cursor and the viewer's address. With a key, the viewer's address is the one the caller states, because relays
    /// serve many viewers; otherwise it is the caller's own.
    pub(crate) fn forwarded_headers(
        &self,
        route: &Route,
        principal: &Principal,
    ) -> Result<Vec<(&'static str, String)>, ApiError> {
        let mut forwarded_headers = Vec::new();
        let mut forward = |name: &'static str, value: Option<String>| -> Result<(), ApiError> {
            if let Some(value) = value
                && let Some(value) = forwarded::filter(name, &value)?
            {
                forwarded_headers.push((name, value.into_owned()));
            }
            Ok(())
        };
        if route.method == Method::Post {
            forward(IDEMPOTENCY_KEY, self.inbound.header(IDEMPOTENCY_KEY))?;
        }
        if route.streams() {
            // An `EventSource` without a cursor sends an empty header.
            forward(LAST_EVENT_ID, self.inbound.header(LAST_EVENT_ID).filter(|cursor| !cursor.is_empty()))?;
            let viewer = match principal {
                Principal::Key { .. } => self.inbound.header(CLIENT_IP),
                Principal::Anonymous | Principal::FirstParty { .. } | Principal::IndexToken { .. } => {
                    Some(match self.client() {
                        ClientNet::V4(address) => address.to_string(),
                        ClientNet::V6(network) => network.to_string(),
                    })
                }
            };
            forward(CLIENT_IP, viewer)?;
        }
        Ok(forwarded_headers)
    }

    /// Charges a request without a valid key to the caller's address.
    async fn charged_to_address(&self, route: &Route, payer: Payer, principal: Principal) -> Identified {
        let verdict = match charge(route.rate_limit_class, payer) {
            Charge::Nothing | Charge::Key => None,
            Charge::Address(budget) | Charge::KeyAndAddress(budget) => Some(self.take_address(budget, payer).await),
        };
        self.gated(route, principal, verdict)
    }

    /// Refuses a request with an invalid credential. The request is charged to the address and never treated as anonymous access.
    async fn rejected(&self, route: &Route) -> Identified {
        let identified = self.charged_to_address(route, Payer::Rejected, Principal::Anonymous).await;
        let spent = identified.verdict.is_none_or(|verdict| !verdict.admitted);
        match spent {
            true => identified,
            false => Identified { outcome: Err(gate::rejected_key()), ..identified },
        }
    }

    async fn keyed(&self, route: &Route, text: CredentialText<'_>, kind: Kind) -> Identified {
        let digest = text.digest();
        let (named, judged) = match self.spend_reserved(route, text, digest) {
            Some((record, verdict)) => {
                let verdict = Some(verdict);
                (Ok(Subclient::Pooled), Judged::Holds(Holder { record, verdict }))
            }
            None => {
                let named = Subclient::read(self.inbound.header(SUBCLIENT).as_deref());
                let client = named.as_ref().cloned().unwrap_or(Subclient::Pooled);
                (named, self.judge_key(route, text, digest, client).await)
            }
        };
        let holder = match judged {
            Judged::Holds(holder) => holder,
            Judged::Rejected => return self.rejected(route).await,
            // A presented credential is never treated as anonymous access.
            Judged::Unknown => {
                if !self.isolate.guards.spray.borrow().knows(&digest) {
                    self.uncounted.set(true);
                }
                return Identified::failed(gate::unverifiable_key());
            }
        };
        let record = holder.record;
        let verdict = self.charged(route, holder).await;
        let principal = match kind {
            Kind::ApiKey => Principal::Key { id: record.id, org_id: record.org_id, plan: record.plan },
            Kind::IndexToken => Principal::IndexToken { id: record.id },
        };
        let identified = self.gated(route, principal, verdict.combined);
        let admitted = verdict.combined.is_none_or(|verdict| verdict.admitted);
        if !(admitted && verdict.counted) {
            self.note(digest, route, admitted);
        }
        match (named, &identified.outcome) {
            // An invalid subclient header is refused for shared keys only. Only the record contains whether the key is shared.
            (Err(fault), Ok(_)) if record.shared => Identified { outcome: Err(fault), ..identified },
            _ => identified,
        }
    }

    /// The verdict on a key that cannot be checked now: rejected if it was rejected recently, else unknown.
    fn unjudged(&self, digest: &KeyDigest) -> Judged {
        match self.isolate.guards.refused.borrow().is_refused(digest, self.host.now().as_seconds()) {
            true => Judged::Rejected,
            false => Judged::Unknown,
        }
    }

    /// Checks a key: first in this isolate's memory of recent refusals, then in the register if the key is new to this isolate, and last
    /// at the key's Durable Object.
    async fn judge_key(&self, route: &Route, text: CredentialText<'_>, digest: KeyDigest, client: Subclient) -> Judged {
        let asked_at = self.host.now();
        let remembered = &self.isolate.guards;
        if let Some(spent) = remembered.denials.borrow().key(digest, route.rate_limit_class, &client, asked_at) {
            return Judged::Holds(Holder { record: spent.record, verdict: Some(spent.verdict) });
        }
        if remembered.spray.borrow().refuses(&digest, asked_at.as_millis()) {
            return Judged::Rejected;
        }
        let is_known = remembered.spray.borrow().knows(&digest);
        if !is_known {
            match self.registered(text, digest).await {
                Registered::AskKeyObject => {}
                Registered::No => {
                    remembered.spray.borrow_mut().rejected(&digest, asked_at.as_millis());
                    remembered.refused.borrow_mut().note(digest, asked_at.as_seconds());
                    return Judged::Rejected;
                }
                Registered::Unknown => return self.unjudged(&digest),
            }
        }
        let take = key_limit(route.rate_limit_class, 0).map(|_| Take {
            class: route.rate_limit_class,
            endpoint: route.endpoint(),
            client: client.clone(),
        });
        match self.ask_key(text, digest, take).await {
            Some(KeyReply::Known { record, verdict }) => {
                remembered.spray.borrow_mut().good(digest);
                remembered.refused.borrow_mut().mark_valid(&digest);
                match verdict {
                    Some(verdict) if verdict.admitted => self.note_asked(route, text, digest, (record, verdict)),
                    Some(verdict) => {
                        let spent = SpentKey { record, verdict };
                        remembered.denials.borrow_mut().remember_key(
                            digest,
                            route.rate_limit_class,
                            &client,
                            spent,
                            asked_at,
                        );
                    }
                    None => {}
                }
                Judged::Holds(Holder { record, verdict })
            }
            Some(KeyReply::Rejected) => {
                remembered.spray.borrow_mut().rejected(&digest, asked_at.as_millis());
                remembered.refused.borrow_mut().note(digest, asked_at.as_seconds());
                Judged::Rejected
            }
            _ => self.unjudged(&digest),
        }
    }

    /// Calls the key's Durable Object; if the origin needs the key's text, repeats the call with the text.
    async fn ask_key(&self, text: CredentialText<'_>, digest: KeyDigest, take: Option<Take>) -> Option<KeyReply> {
        let shown = text.shown().to_owned();
        let tally = self.isolate.guards.reports.borrow_mut().take(&digest);
        let settled = self.isolate.guards.reserved.borrow_mut().over(&digest, self.host.now());
        let mut ask = KeyAsk { digest, shown, text: None, take, tally, settled };
        let mut reply = self.host.key(&digest, &KeyMessage::Ask(ask.clone())).await;
        if reply == Ok(KeyReply::TextNeeded) {
            ask.text = Some(text.expose().to_owned());
            ask.tally.clear();
            ask.settled.clear();
            reply = self.host.key(&digest, &KeyMessage::Ask(ask)).await;
        }
        match reply {
            Ok(reply) => Some(reply),
            Err(unreachable) => {
                self.host.log(&format!("{} a key's Durable Object did not answer: {}", self.request_id, unreachable.0));
                None
            }
        }
    }

    /// Combines the key's verdict with the address's if the rate-limit class charges both.
    async fn charged(&self, route: &Route, holder: Holder) -> Charged {
        let key = holder.verdict;
        let counted = key.is_some_and(|verdict| verdict.admitted);
        let combined = match charge(route.rate_limit_class, Payer::Key) {
            Charge::Nothing => None,
            Charge::Key => key,
            Charge::Address(budget) => Some(self.take_address(budget, Payer::Key).await),
            Charge::KeyAndAddress(budget) => {
                let address = self.take_address(budget, Payer::Key).await;
                Some(key.map_or(address, |key| either(key, address)))
            }
        };
        Charged { combined, counted }
    }

    /// Charges the caller's address and, if `payer` has no valid key, its neighbourhood: at the address's Durable Object or, while that is
    /// unavailable, at this isolate's fallback limiter.
    async fn take_address(&self, budget: AddressBudget, payer: Payer) -> Verdict {
        let (net, now, shared) = (self.client(), self.host.now(), charges_neighbourhood(payer));
        if let Some(refusal) = self.isolate.guards.denials.borrow().address(net, shared, budget, now) {
            return refusal;
        }
        let Place { shard, address, neighbourhood: name, ratio } = place(&net, &self.config.salt);
        let neighbourhood = Some(Around { name, times: ratio, charged: shared });
        match self.host.address(shard, &AddressTake { address, budget, neighbourhood }).await {
            Ok(verdict) => {
                if !verdict.admitted {
                    self.isolate.guards.denials.borrow_mut().remember_address(net, budget, verdict, now);
                }
                verdict
            }
            Err(unreachable) => {
                self.host
                    .log(&format!("{} an address's Durable Object did not answer: {}", self.request_id, unreachable.0));
                let mut stand_in = self.isolate.guards.fallback.borrow_mut();
                stand_in.take((net, budget), shared, &self.config.salt, now.as_seconds())
            }
        }
    }

    fn gated(&self, route: &Route, principal: Principal, verdict: Option<Verdict>) -> Identified {
        let outcome = match verdict {
            Some(verdict) if !verdict.admitted => Err(gate::spent(&verdict, self.host.now().as_seconds())),
            _ => gate::admit(route.access_now(self.config.anonymous_stream), &principal).map(|()| principal),
        };
        Identified { verdict, outcome }
    }

    /// Records a request that the key's Durable Object has not counted, to report it later.
    fn note(&self, digest: KeyDigest, route: &Route, served: bool) {
        if self.isolate.guards.reports.borrow_mut().note(digest, route.endpoint(), served) {
            self.host.report_later(digest);
        }
    }
}

/// The charge of a keyed request.
#[derive(Clone, Copy)]
struct Charged {
    /// The verdict that decides, from the key's limit, the address's limit or both.
    combined: Option<Verdict>,
    /// Whether the key's Durable Object already counted the request as served.
    counted: bool,
}
