//! Keys that are new to this isolate: looked up in a register before a Durable Object is created for them.
//!
//! A key is looked up regardless of how many guesses came from the same address, because an address is no reason to refuse a valid key.
//! Guessing uses up the address's limit for requests without a key. Only a few look-ups for addresses without a remaining limit run
//! concurrently.

use crate::guard::objects::message::{KeyMessage, KeyReply, LookUp};
use crate::pipeline::RequestContext;
use crate::ports::{Guards, Host, Inbound};
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::AddressBudget;
use rds_shared::access::credential::CredentialText;

/// A register's answer about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    /// The register lists the key or did not answer: call the key's own Durable Object.
    AskKeyObject,
    /// The key does not exist at the origin.
    No,
    /// The register did not answer, and the address has used up its limit: no Durable Object is created for the key.
    Unknown,
}

impl<I: Inbound, H: Host + Guards> RequestContext<'_, I, H> {
    /// Looks up a key that is new to this isolate.
    pub(crate) async fn registered(&self, text: CredentialText<'_>, digest: KeyDigest) -> Registered {
        let (net, now) = (self.client(), self.host.now());
        let spent = self.isolate.guards.denials.borrow().address(net, true, AddressBudget::Anonymous, now).is_some();
        let mut asked = LookUp { digest, shown: text.shown().to_owned(), text: None, spent };
        let mut reply = self.host.register(&digest, &KeyMessage::LookUp(asked.clone())).await;
        if reply == Ok(KeyReply::TextNeeded) {
            asked.text = Some(text.expose().to_owned());
            reply = self.host.register(&digest, &KeyMessage::LookUp(asked)).await;
        }
        match reply {
            Ok(KeyReply::Listed) => Registered::AskKeyObject,
            Ok(KeyReply::Rejected) => Registered::No,
            // The key's own Durable Object may have a record of the key. It is not called if the address has used up its limit.
            _ if !spent => Registered::AskKeyObject,
            _ => Registered::Unknown,
        }
    }
}
