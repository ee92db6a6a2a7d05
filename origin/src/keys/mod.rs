//! API keys and index tokens: how they look, and how operators mint, revoke and list them.
//!
//! Source: interface, "Authentication", 2, 3 and 7; contracts, "Formats".

pub mod format;

use crate::clock::Clock;
use crate::store::keys as table;
use crate::store::{Db, StoreError};
use format::{Credential, Kind};
use rds_shared::wire::Timestamp;
use serde::Serialize;

/// What a key's holder has paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Plan {
    /// Scores, registry, events, exports.
    Data,
    /// And look-through, checks, signed decisions, webhooks.
    Decisioning,
    /// And what was arranged.
    Embedded,
}

impl Plan {
    /// The plan's word in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Plan::Data => "data",
            Plan::Decisioning => "decisioning",
            Plan::Embedded => "embedded",
        }
    }

    /// Requests per minute without a contract of its own.
    pub const fn default_rpm(self) -> u32 {
        match self {
            Plan::Data => 300,
            Plan::Decisioning => 600,
            Plan::Embedded => 1_200,
        }
    }
}

/// What a new key is to be.
#[derive(Debug, Clone)]
pub struct KeyWish {
    /// The organisation that holds it.
    pub org: String,
    /// Its plan.
    pub plan: Plan,
    /// Requests per minute by contract.
    pub rpm: Option<u32>,
    /// Whether its holder serves several clients with it.
    pub shared: bool,
}

/// A new credential, with the one copy of its text there will ever be.
#[derive(Debug, Serialize)]
pub struct Minted {
    /// Its number, for `revoke`.
    pub id: i64,
    /// The credential.
    pub key: String,
}

/// An API key as `list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyRow {
    /// Its number.
    pub id: i64,
    /// Its first characters.
    pub prefix: String,
    /// Who holds it.
    pub org: String,
    /// Its plan.
    pub plan: String,
    /// Requests per minute by contract; null is the plan's default.
    pub rpm: Option<i32>,
    /// Whether its holder serves several clients with it.
    pub shared: bool,
    /// When it was minted.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// False once revoked; nothing brings it back.
    pub is_active: bool,
}

/// An index token as `list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenRow {
    /// Its number.
    pub id: i64,
    /// Its first characters.
    pub prefix: String,
    /// What it was minted for.
    pub name: String,
    /// When it was minted.
    pub created_at: Timestamp,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
    /// False once revoked; nothing brings it back.
    pub is_active: bool,
}

/// What a revocation found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// It was active and is not any more.
    Revoked,
    /// It had been revoked before.
    Already,
    /// There is none with this number.
    Unknown,
}

/// Mints an API key; the organisation is created with its first.
pub async fn mint(db: &Db, clock: &Clock, wish: &KeyWish) -> Result<Minted, StoreError> {
    let new = Credential::new(Kind::ApiKey);
    let id = table::insert_key(db, wish, &new.prefix(), &new.digest(), clock.now()).await?;
    Ok(Minted { id, key: new.into_text() })
}

/// Mints an index token.
pub async fn mint_token(db: &Db, clock: &Clock, name: &str) -> Result<Minted, StoreError> {
    let new = Credential::new(Kind::IndexToken);
    let id = table::insert_token(db, name, &new.prefix(), &new.digest(), clock.now()).await?;
    Ok(Minted { id, key: new.into_text() })
}

/// Revokes an API key for good.
pub async fn revoke(db: &Db, clock: &Clock, id: i64) -> Result<Revocation, StoreError> {
    table::revoke(db, Kind::ApiKey, id, clock.now()).await
}

/// Revokes an index token for good.
pub async fn revoke_token(db: &Db, clock: &Clock, id: i64) -> Result<Revocation, StoreError> {
    table::revoke(db, Kind::IndexToken, id, clock.now()).await
}

/// Every API key, revoked ones too, oldest first.
pub async fn list(db: &Db) -> Result<Vec<KeyRow>, StoreError> {
    table::keys(db).await
}

/// Every index token, revoked ones too, oldest first.
pub async fn list_tokens(db: &Db) -> Result<Vec<TokenRow>, StoreError> {
    table::tokens(db).await
}
