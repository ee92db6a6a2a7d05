//! Mappings that apply to one subject: the signer sets of a market.

use crate::registry::catalog::address;
use crate::{Db, StoreError};
use rds_facts::{Share, Signers, Subject};
use rds_shared::model::ids::ChainId;
use rds_shared::model::mapping::{MarketSignerSet, SubjectType};
use rds_shared::scoring::Ppm;
use sqlx::types::Json;

/// A signer set, and the entry of `applies_to` for the requested subject.
#[derive(sqlx::FromRow)]
struct SignerSetRow {
    mapping_id: String,
    name: Option<String>,
    verified: bool,
    confidence: Json<Share>,
    source: String,
    signers: Json<Signers>,
    subject: Json<Subject>,
}

/// The signer sets that administer the market at `contract`, in byte order of id, without those on withheld chains.
pub async fn signer_sets_of_market(db: &Db, contract: &str) -> Result<Vec<MarketSignerSet>, StoreError> {
    let rows: Vec<SignerSetRow> = sqlx::query_as(
        "SELECT mapping_id, name, verified, to_jsonb(confidence) AS confidence, source, signers, subject \
         FROM mapping CROSS JOIN jsonb_array_elements(applies_to) AS subject \
         WHERE mapping_type = 'signer_set' AND is_active AND signers IS NOT NULL \
           AND applies_to @> jsonb_build_array(jsonb_build_object('type', $1::text, 'id', $2::text)) \
           AND subject->>'type' = $1 AND subject->>'id' = $2 \
           AND NOT EXISTS (SELECT FROM chain c WHERE c.chain_id = (signers->>'chain_id')::bigint AND NOT c.is_served) \
         ORDER BY mapping_id COLLATE \"C\"",
    )
    .bind(SubjectType::Market.as_str())
    .bind(contract)
    .fetch_all(&db.pool)
    .await?;
    rows.into_iter().map(served).collect()
}

fn served(row: SignerSetRow) -> Result<MarketSignerSet, StoreError> {
    let SignerSetRow { mapping_id, name, verified, confidence, source, signers, subject } = row;
    let (Json(signers), Json(subject), Json(Share(confidence))) = (signers, subject, confidence);
    let owners = signers.owners.as_ref();
    Ok(MarketSignerSet {
        id: mapping_id,
        name,
        form: signers.form,
        chain_id: ChainId(signers.chain_id.unsigned_abs()),
        address: address("mapping.signers", signers.address)?,
        threshold: signers.threshold,
        owner_count: owners.map(|owners| u32::try_from(owners.len()).unwrap_or(u32::MAX)),
        delay_seconds: signers.delay_seconds.map(i64::unsigned_abs),
        roles: signers.roles,
        verified: subject.verified.unwrap_or(verified),
        confidence: Ppm(subject.confidence.map_or(confidence, |Share(own)| own).into()),
        reason: subject.reason,
        source,
    })
}
