//! Keys that are new to this isolate: looked up in a register before they get an object of their own.
//!
//! However many keys were guessed from an address, the next one is looked up all the same, and passes if it holds: an address is no
//! reason to refuse a key. Guessing costs the guesser the address's allowance for requests without a key, and only few look-ups for
//! such addresses are out at once.

use crate::guard::message::{KeyMessage, KeyReply, LookUp};
use crate::pipeline::Walk;
use crate::ports::{Guards, Host, Inbound};
use rds_shared::access::KeyDigest;
use rds_shared::access::budget::AddressBudget;
use rds_shared::access::credential::CredentialText;

/// What a register says of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registered {
    /// Its own object is to be asked.
    Perhaps,
    /// The origin does not know it.
    No,
    /// Nobody can say, and no object is made for it.
    Unknown,
}

impl<I: Inbound, H: Host + Guards> Walk<'_, I, H> {
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
            Ok(KeyReply::Listed) => Registered::Perhaps,
            Ok(KeyReply::Rejected) => Registered::No,
            // The key's own object may know it of old. Of an address that goes on guessing it is not asked.
            _ if !spent => Registered::Perhaps,
            _ => Registered::Unknown,
        }
    }
}
