//! The loss cases that the loss board lists.

use crate::columns::{DbCents, DbList};
use crate::db_enum::DbEnum;
use crate::decode::Nullable;
use crate::shared_row::{Shared, shared_row};
use crate::{At, Db, StoreError};
use rds_facts::Reference;
use rds_shared::model::ids::ChainId;
use rds_shared::model::loss::{
    Dossier, DossierCoverage, DossierEvidence, DossierProvenance, LossBasis, LossChain, LossProtocol, LossRow,
    UNMAPPED_ID, UNMAPPED_SLUG,
};
use rds_shared::model::money::Cents;
use rds_shared::model::status::Severity;
use rds_shared::rules::losses;
use sqlx::FromRow;

/// The loss board's cases, in ascending order of id.
///
/// Unpublished registry rows and withheld chains are not shown. A case whose first chain is withheld is left out.
pub async fn load(db: &Db) -> Result<Vec<LossRow>, StoreError> {
    let cases: Vec<CaseRow> = sqlx::query_as(
        "SELECT l.*, (l.loss_usd * 100)::bigint AS loss_cents, (l.returned_usd * 100)::bigint AS returned_cents, \
                l.contamination->>'verified_by' IS NOT NULL AS is_contaminated, \
                on_chain.ids AS served_ids, on_chain.slugs AS served_slugs, \
                coalesce(p.name, l.protocol_name) AS shown_protocol, p.logo_url, p.website_url, \
                s.id AS security_event_id, s.severity AS registry_severity, \
                coalesce(s.attackers, '{}') AS attackers, coalesce(s.victims, '{}') AS victims, \
                l.protocol_id IS NOT NULL OR coalesce(s.affects_tracked_universe, false) AS in_universe \
         FROM loss_case l \
         CROSS JOIN LATERAL (SELECT coalesce(array_agg(c.chain_id ORDER BY named.place), '{}') AS ids, \
                     coalesce(array_agg(c.slug ORDER BY named.place), '{}') AS slugs \
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
    Ok(cases.into_iter().filter_map(listed).collect())
}

/// A case before it is decided whether the board lists it.
#[derive(FromRow)]
struct CaseRow {
    case_id: String,
    title: String,
    #[sqlx(try_from = "Nullable<DbCents>")]
    loss_cents: Option<Cents>,
    #[sqlx(try_from = "Nullable<DbCents>")]
    returned_cents: Option<Cents>,
    is_active: bool,
    is_contaminated: bool,
    served_ids: Vec<i64>,
    served_slugs: Vec<String>,
    attacked_at: At,
    severity: Option<String>,
    #[sqlx(try_from = "Nullable<DbEnum<Severity>>")]
    registry_severity: Option<Severity>,
    classification: Option<String>,
    technique: Option<String>,
    mechanism: Option<String>,
    protocol_id: Option<String>,
    shown_protocol: Option<String>,
    logo_url: Option<String>,
    website_url: Option<String>,
    in_universe: bool,
    #[sqlx(try_from = "Nullable<i64>")]
    security_event_id: Option<u64>,
    #[sqlx(flatten, try_from = "Shared<DossierEvidence>")]
    evidence: DossierEvidence,
    #[sqlx(flatten, try_from = "Shared<DossierProvenance>")]
    provenance: DossierProvenance,
}

shared_row! { DossierEvidence { transactions = "tx_hashes", attackers, victims, links: DbList<Reference> } }
shared_row! { DossierProvenance {
    source, source_id, retrieved_at: At = "observed_at", loss_text, loss_basis: DbEnum<LossBasis>, note
} }

/// The row of a case; `None` if the board does not list it.
fn listed(case: CaseRow) -> Option<LossRow> {
    let is_listed = losses::is_listed(case.is_active, case.loss_cents, case.is_contaminated);
    let loss = case.loss_cents.filter(|_| is_listed)?;
    let chains = case.served_ids.into_iter().zip(case.served_slugs);
    let chains: Vec<LossChain> =
        chains.map(|(id, chain_slug)| LossChain { chain_id: ChainId(id.unsigned_abs()), chain_slug }).collect();
    let first = chains.first().cloned();
    let LossChain { chain_id, chain_slug } =
        first.unwrap_or_else(|| LossChain { chain_id: UNMAPPED_ID, chain_slug: UNMAPPED_SLUG.to_owned() });
    let CaseRow { protocol_id: id, logo_url, website_url, evidence, security_event_id, .. } = case;
    let coverage = DossierCoverage {
        has_transactions: !evidence.transactions.is_empty(),
        has_references: !evidence.links.is_empty(),
        has_addresses: !evidence.attackers.is_empty() || !evidence.victims.is_empty(),
        has_registry_row: security_event_id.is_some(),
    };
    Some(LossRow {
        id: case.case_id,
        title: case.title,
        loss_amount_usd: loss,
        attacked_at: case.attacked_at.into(),
        severity: losses::severity_of(case.severity.as_deref(), case.registry_severity, loss),
        chain_id,
        chain_slug,
        classification: case.classification,
        technique: case.technique,
        mechanism: case.mechanism,
        chains,
        returned_funds_usd: case.returned_cents,
        protocol: case.shown_protocol.map(|name| LossProtocol { id, name, logo_url, website_url }),
        affects_tracked_universe: case.in_universe,
        security_event_id,
        incident_dossier: Dossier { evidence, provenance: case.provenance, coverage },
    })
}
