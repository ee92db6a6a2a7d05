//! The casebooks: the cases listed on the loss board.

use crate::store::registry::catalog::instant;
use crate::store::security::references;
use crate::store::{Db, StoreError, decode_enum, decode_optional_enum};
use rds_shared::model::ids::ChainId;
use rds_shared::model::loss::{
    Dossier, DossierCoverage, DossierEvidence, DossierProvenance, LossChain, LossProtocol, LossRow, UNMAPPED_ID,
    UNMAPPED_SLUG,
};
use rds_shared::model::money::Cents;
use rds_shared::rules::losses;
use sqlx::Row;
use sqlx::postgres::PgRow;

/// The loss board's cases, in ascending order of id.
///
/// Unpublished registry rows and withheld chains are not shown. A case whose first chain is withheld is left out.
pub async fn load(db: &Db) -> Result<Vec<LossRow>, StoreError> {
    let rows = sqlx::query(
        "SELECT l.*, (l.loss_usd * 100)::bigint AS loss_cents, (l.returned_usd * 100)::bigint AS returned_cents, \
                l.contamination->>'verified_by' IS NOT NULL AS is_contaminated, \
                on_chain.ids AS served_ids, on_chain.slugs AS served_slugs, \
                p.name AS tracked_name, p.logo_url, p.website_url, \
                s.id AS security_event_id, s.severity AS registry_severity, s.attackers, s.victims, \
                l.protocol_id IS NOT NULL OR coalesce(s.affects_tracked_universe, false) AS in_universe \
         FROM loss_case l \
         CROSS JOIN LATERAL (SELECT array_agg(c.chain_id ORDER BY named.place) AS ids, array_agg(c.slug ORDER BY named.place) AS slugs \
              FROM unnest(l.chain_ids) WITH ORDINALITY AS named (chain_id, place) JOIN chain c USING (chain_id) WHERE c.is_served) AS on_chain \
         LEFT JOIN protocol p ON p.id = l.protocol_id \
         LEFT JOIN (SELECT r.* FROM security_event r LEFT JOIN chain c USING (chain_id) \
                    WHERE r.state = 'published' AND coalesce(c.is_served, true)) AS s \
              ON s.source = l.security_source AND s.source_id = l.security_source_id \
         WHERE l.chain_ids = '{}' OR l.chain_ids[1] = ANY(on_chain.ids) \
         ORDER BY l.case_id COLLATE \"C\"",
    )
    .fetch_all(&db.pool)
    .await?;
    let cases = rows.iter().map(listed).filter_map(Result::transpose);
    cases.collect()
}

/// The row of a case; `None` if the board does not list it.
fn listed(row: &PgRow) -> Result<Option<LossRow>, StoreError> {
    let loss = row.try_get::<Option<i64>, _>("loss_cents")?.map(Cents);
    let is_listed = losses::is_listed(row.try_get("is_active")?, loss, row.try_get("is_contaminated")?);
    let Some(loss) = loss.filter(|_| is_listed) else { return Ok(None) };
    let ids: Option<Vec<i64>> = row.try_get("served_ids")?;
    let slugs: Option<Vec<String>> = row.try_get("served_slugs")?;
    let chains = ids.into_iter().flatten().zip(slugs.into_iter().flatten());
    let chains: Vec<LossChain> =
        chains.map(|(id, chain_slug)| LossChain { chain_id: ChainId(id.unsigned_abs()), chain_slug }).collect();
    let first = chains.first().cloned();
    let LossChain { chain_id, chain_slug } =
        first.unwrap_or_else(|| LossChain { chain_id: UNMAPPED_ID, chain_slug: UNMAPPED_SLUG.to_owned() });
    let label: Option<&str> = row.try_get("severity")?;
    let registry = decode_optional_enum("security_event.severity", row.try_get("registry_severity")?)?;
    let name = match row.try_get::<Option<String>, _>("tracked_name")? {
        Some(name) => Some(name),
        None => row.try_get("protocol_name")?,
    };
    let protocol = match name {
        Some(name) => Some(LossProtocol {
            id: row.try_get("protocol_id")?,
            name,
            logo_url: row.try_get("logo_url")?,
            website_url: row.try_get("website_url")?,
        }),
        None => None,
    };
    let security_event_id = row.try_get::<Option<i64>, _>("security_event_id")?.map(i64::unsigned_abs);
    Ok(Some(LossRow {
        id: row.try_get("case_id")?,
        title: row.try_get("title")?,
        loss_amount_usd: loss,
        attacked_at: instant(row, "attacked_at")?.unwrap_or_default(),
        severity: losses::severity_of(label, registry, loss),
        chain_id,
        chain_slug,
        classification: row.try_get("classification")?,
        technique: row.try_get("technique")?,
        mechanism: row.try_get("mechanism")?,
        chains,
        returned_funds_usd: row.try_get::<Option<i64>, _>("returned_cents")?.map(Cents),
        protocol,
        affects_tracked_universe: row.try_get("in_universe")?,
        security_event_id,
        incident_dossier: dossier(row, security_event_id.is_some())?,
    }))
}

fn dossier(row: &PgRow, has_registry_row: bool) -> Result<Dossier, StoreError> {
    let addresses = |column| Ok::<_, StoreError>(row.try_get::<Option<Vec<String>>, _>(column)?.unwrap_or_default());
    let evidence = DossierEvidence {
        transactions: row.try_get("tx_hashes")?,
        attackers: addresses("attackers")?,
        victims: addresses("victims")?,
        links: references(row)?,
    };
    let coverage = DossierCoverage {
        has_transactions: !evidence.transactions.is_empty(),
        has_references: !evidence.links.is_empty(),
        has_addresses: !evidence.attackers.is_empty() || !evidence.victims.is_empty(),
        has_registry_row,
    };
    let provenance = DossierProvenance {
        source: row.try_get("source")?,
        source_id: row.try_get("source_id")?,
        retrieved_at: instant(row, "observed_at")?.unwrap_or_default(),
        loss_text: row.try_get("loss_text")?,
        loss_basis: decode_enum("loss_case.loss_basis", row.try_get("loss_basis")?)?,
        note: row.try_get("note")?,
    };
    Ok(Dossier { evidence, provenance, coverage })
}
