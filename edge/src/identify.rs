//! Who is calling, what that is charged to, and whether the route is open to them.
//!
//! One call to the key's object or to the address's, as the budget table of `shared` says; both only in families that
//! charge both. Source: interface, "Authentication", 2 to 8, and "Rate limits".

use crate::guard::denials::SpentKey;
use crate::guard::message::{KeyAsk, KeyMessage, KeyReply, Take};
use crate::guard::subclient::Subclient;
use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound};
use rds_shared::access::budget::{AddressBudget, Charge, Payer, Verdict, charge, either, key_limit};
use rds_shared::access::credential::{CredentialText, Kind};
use rds_shared::access::{ClientNet, KeyDigest, KeyRecord, Presented, Principal, gate};
use rds_shared::route::{Access, Route};
use rds_shared::wire::headers::{CLIENT_IP, LAST_EVENT_ID, SUBCLIENT};
use rds_shared::wire::{ApiError, ErrorCode};

/// Characters of a stream's headers that are handed on: more than any that means something, so that a longer one still means nothing.
const LONGEST_SAID: usize = 128;

/// The caller, and what their budget said.
#[derive(Debug)]
pub struct Identified {
    /// What the rate headers tell; nothing when no budget was asked.
    pub verdict: Option<Verdict>,
    /// The caller, if they may have the route.
    pub outcome: Result<Principal, ApiError>,
}

impl Identified {
    fn failed(error: ApiError) -> Self {
        Identified { verdict: None, outcome: Err(error) }
    }
}

/// A key as its object knows it.
struct Holder {
    record: KeyRecord,
    /// What the key's own budget said, where it has one.
    verdict: Option<Verdict>,
}

/// What became of a presented key.
enum Judged {
    Holds(Holder),
    Rejected,
    /// Its address has guessed too many keys for another look-up.
    Sprayed(Verdict),
    /// It could not be judged.
    Unknown,
}

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
    /// Identifies the caller of `route`, charges the request, and lets it pass or says why not.
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
            // A token is none to any other route, whether or not it is live.
            Presented::IndexToken(text) if route.access == Access::Index => {
                self.keyed(route, text, Kind::IndexToken).await
            }
            Presented::Malformed | Presented::IndexToken(_) => self.rejected(route).await,
        }
    }

    fn keyless(&self) -> Principal {
        self.own_origin.map_or(Principal::Anonymous, |origin| Principal::FirstParty { origin: origin.to_owned() })
    }

    /// What the origin is told of a stream's caller beside who it is: the last cursor, in the caller's own spelling, and whose
    /// the stream is. A relay with a key reports its viewer; of anybody else it is the address that is known here.
    pub(crate) fn said_of_stream(&self, principal: &Principal) -> Vec<(&'static str, String)> {
        let given = |name: &'static str| {
            let value = self.inbound.header(name)?;
            Some((name, value.chars().take(LONGEST_SAID).collect::<String>()))
        };
        let viewer = match principal {
            Principal::Key { .. } => given(CLIENT_IP),
            Principal::Anonymous | Principal::FirstParty { .. } | Principal::IndexToken { .. } => {
                let address = match self.client() {
                    ClientNet::V4(address) => address.to_string(),
                    ClientNet::V6(network) => network.to_string(),
                };
                Some((CLIENT_IP, address))
            }
        };
        given(LAST_EVENT_ID).into_iter().chain(viewer).collect()
    }

    /// A caller who pays by their address alone.
    async fn charged_to_address(&self, route: &Route, payer: Payer, principal: Principal) -> Identified {
        let verdict = match charge(route.family, payer) {
            Charge::Nothing | Charge::Key => None,
            Charge::Address(budget) | Charge::KeyAndAddress(budget) => match self.take_address(budget).await {
                Ok(verdict) => Some(verdict),
                Err(error) => return Identified::failed(error),
            },
        };
        self.gated(route, principal, verdict)
    }

    /// A credential that does not hold: it costs the address, and is never anonymous access.
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
            Judged::Sprayed(verdict) => {
                let outcome = Err(gate::spent(&verdict, self.host.now().as_seconds()));
                return Identified { verdict: Some(verdict), outcome };
            }
            Judged::Unknown if route.access == Access::Public => {
                return self.charged_to_address(route, Payer::Anonymous, Principal::Anonymous).await;
            }
            Judged::Unknown => return Identified::failed(ErrorCode::ServiceUnavailable.into()),
        };
        let record = holder.record;
        let verdict = match self.charged(route, holder).await {
            Ok(verdict) => verdict,
            Err(error) => return Identified::failed(error),
        };
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
            // Only now is it known that the header means anything.
            (Err(fault), Ok(_)) if record.shared => Identified { outcome: Err(fault), ..identified },
            _ => identified,
        }
    }

    /// Finds out about a key: from memory if it was refused a moment ago, else from its object.
    async fn judge_key(&self, route: &Route, text: CredentialText<'_>, digest: KeyDigest, client: Subclient) -> Judged {
        let asked_at = self.host.now();
        let remembered = &self.isolate.guards;
        if let Some(spent) = remembered.denials.borrow().key(digest, route.family, &client, asked_at) {
            return Judged::Holds(Holder { record: spent.record, verdict: Some(spent.verdict) });
        }
        let net = self.client();
        if let Some(verdict) = remembered.spray.borrow().refusal(net, &digest, asked_at.as_seconds()) {
            return Judged::Sprayed(verdict);
        }
        let take = key_limit(route.family, 0).map(|_| Take {
            family: route.family,
            endpoint: route.endpoint(),
            client: client.clone(),
        });
        match self.ask_key(text, digest, take).await {
            Some(KeyReply::Known { record, verdict }) => {
                remembered.spray.borrow_mut().good(digest);
                match verdict {
                    Some(verdict) if verdict.admitted => self.note_asked(route, text, digest, (record, verdict)),
                    Some(verdict) => {
                        let spent = SpentKey { record, verdict };
                        remembered.denials.borrow_mut().remember_key(digest, route.family, &client, spent, asked_at);
                    }
                    None => {}
                }
                Judged::Holds(Holder { record, verdict })
            }
            Some(KeyReply::Rejected) => {
                remembered.spray.borrow_mut().rejected(net, &digest, asked_at.as_seconds());
                Judged::Rejected
            }
            _ => {
                remembered.spray.borrow_mut().unjudged(net, &digest, asked_at.as_seconds());
                Judged::Unknown
            }
        }
    }

    /// Asks the key's object, and a second time with the text if the origin wants to see it.
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
                self.host.log(&format!("{} a key's object gave no answer: {}", self.request_id, unreachable.0));
                None
            }
        }
    }

    /// Adds the address's verdict where the family asks for it.
    async fn charged(&self, route: &Route, holder: Holder) -> Result<Charged, ApiError> {
        let key = holder.verdict;
        let counted = key.is_some_and(|verdict| verdict.admitted);
        let combined = match charge(route.family, Payer::Key) {
            Charge::Nothing => None,
            Charge::Key => key,
            Charge::Address(budget) => Some(self.take_address(budget).await?),
            Charge::KeyAndAddress(budget) => match (key, self.take_address(budget).await) {
                (Some(key), Ok(address)) => Some(either(key, address)),
                // One of the two is enough to let a request pass.
                (Some(key), Err(_)) if key.admitted => Some(key),
                (_, address) => Some(address?),
            },
        };
        Ok(Charged { combined, counted })
    }

    /// Charges the caller's address, at its object or, while that is away, in this isolate.
    async fn take_address(&self, budget: AddressBudget) -> Result<Verdict, ApiError> {
        let (net, now) = (self.client(), self.host.now());
        if let Some(refusal) = self.isolate.guards.denials.borrow().address(net, budget, now) {
            return Ok(refusal);
        }
        let (shard, address) = crate::guard::address::place(&net);
        let take = crate::guard::message::AddressTake { address, budget };
        match self.host.address(shard, &take).await {
            Ok(verdict) => {
                if !verdict.admitted {
                    self.isolate.guards.denials.borrow_mut().remember_address(net, budget, verdict, now);
                }
                Ok(verdict)
            }
            Err(unreachable) => {
                self.host.log(&format!("{} an address's object gave no answer: {}", self.request_id, unreachable.0));
                let mut stand_in = self.isolate.guards.stand_in.borrow_mut();
                stand_in.take(net, budget, now.as_seconds()).ok_or_else(|| ErrorCode::ServiceUnavailable.into())
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

    /// Notes a request that the key's object did not count when it was asked.
    fn note(&self, digest: KeyDigest, route: &Route, served: bool) {
        if self.isolate.guards.reports.borrow_mut().note(digest, route.endpoint(), served) {
            self.host.report_later(digest);
        }
    }
}

/// What a keyed request was charged.
#[derive(Clone, Copy)]
struct Charged {
    /// The verdict that counts.
    combined: Option<Verdict>,
    /// Whether the key's object has counted the request as served.
    counted: bool,
}
