//! Counts for research: coverage, freshness, tier changes, sources of facts, and rows that contradict a claim.

use crate::shared_row::{Shared, shared_row};
use crate::{At, StoreError, Tx};
use rds_shared::model::research::{Source, SourceKind};
use sqlx::FromRow;
use std::collections::BTreeMap;

/// Coverage of the active vaults on served chains.
#[derive(Debug, Clone, Default, PartialEq, Eq, FromRow)]
pub struct Coverage {
    pub vaults: i64,
    /// Vaults with a published score.
    pub scored: i64,
    /// Scored vaults whose exposures were observed.
    pub exposures_observed: i64,
    /// Scored vaults whose new tier is not published yet because of its dwell.
    pub dwelling: i64,
    /// Vaults with a price from the last 7 days.
    pub priced: i64,
    /// Scored vaults with a price from the last 7 days.
    pub scored_and_priced: i64,
    /// Vaults whose newest state is at most a day old.
    pub fresh: i64,
    /// Vaults with any state.
    pub observed: i64,
    /// Vaults whose published tier changed within 30 days.
    pub moved_tier: i64,
    /// Vaults in the newest full score run.
    pub last_run_vaults: i64,
    /// Published scores that the newest full score run changed.
    pub last_run_changes: i64,
    /// Overridden hard-fail flags in the published breakdowns of assets.
    pub overrides: i64,
    /// Assets with a published score.
    pub assets: i64,
}

/// Counts coverage as of `now`.
pub async fn coverage(tx: &mut Tx<'_>, now: At) -> Result<Coverage, StoreError> {
    Ok(sqlx::query_as(
        "WITH served AS ( \
             SELECT v.id, p.score, p.provenance, s.observed_at AS state_at, \
                    EXISTS (SELECT FROM vault_snapshot h WHERE h.vault_id = v.id AND price_per_share > 0 \
                            AND observed_at <= $1 AND observed_at > $1 - interval '7 days') AS priced, \
                    EXISTS (SELECT FROM score_history t WHERE t.vault_id = v.id AND t.prev_tier IS NOT NULL \
                            AND t.new_tier IS DISTINCT FROM t.prev_tier AND t.observed_at > $1 - interval '30 days') AS moved \
             FROM vault v JOIN chain c USING (chain_id) LEFT JOIN vault_score p ON p.vault_id = v.id \
             LEFT JOIN vault_state s ON s.vault_id = v.id WHERE v.is_active AND c.is_served) \
         SELECT count(*) AS vaults, count(score) AS scored, \
                count(score) FILTER (WHERE provenance#>>'{inputs,asset,exposures_status,value}' = 'observed') AS exposures_observed, \
                count(score) FILTER (WHERE provenance->>'dwell' IS NOT NULL) AS dwelling, \
                count(*) FILTER (WHERE priced) AS priced, count(score) FILTER (WHERE priced) AS scored_and_priced, \
                count(*) FILTER (WHERE state_at > $1 - interval '1 day') AS fresh, count(state_at) AS observed, \
                count(*) FILTER (WHERE moved) AS moved_tier, \
                coalesce((SELECT vaults FROM score_run WHERE scope = 'all' ORDER BY version DESC LIMIT 1), 0) AS last_run_vaults, \
                coalesce((SELECT changes FROM score_run WHERE scope = 'all' ORDER BY version DESC LIMIT 1), 0) AS last_run_changes, \
                (SELECT coalesce(sum(json_array_length(a.breakdown->'hard_fail_overrides')), 0)::bigint FROM asset_score a \
                 JOIN asset t ON t.id = a.asset_id JOIN chain c USING (chain_id) WHERE c.is_served) AS overrides, \
                (SELECT count(a.score) FROM asset_score a JOIN asset t ON t.id = a.asset_id JOIN chain c USING (chain_id) \
                 WHERE c.is_served) AS assets \
         FROM served",
    )
    .bind(now)
    .fetch_one(&mut **tx)
    .await?)
}

/// Number of active vaults on served chains without each required input, by name of the input.
pub async fn missing_inputs(tx: &mut Tx<'_>) -> Result<BTreeMap<String, i64>, StoreError> {
    let rows: Vec<(String, i64)> = sqlx::query_as(
        "SELECT missing, count(*) FROM vault v JOIN chain c USING (chain_id) JOIN vault_score p ON p.vault_id = v.id, \
                json_array_elements_text(p.provenance->'missing') AS missing \
         WHERE v.is_active AND c.is_served GROUP BY missing",
    )
    .fetch_all(&mut **tx)
    .await?;
    Ok(rows.into_iter().collect())
}

/// Number of rows checked against a claim, and of rows that contradict it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct Checked {
    pub checked: i64,
    pub violations: i64,
}

/// Counts the published scores on served chains, and those whose row `p` meets the SQL condition `violated`.
async fn of_scores(tx: &mut Tx<'_>, violated: &str) -> Result<Checked, StoreError> {
    let sql = format!(
        "SELECT count(*) AS checked, count(*) FILTER (WHERE {violated}) AS violations \
         FROM vault_score p JOIN vault v ON v.id = p.vault_id JOIN chain c USING (chain_id) WHERE c.is_served AND p.score IS NOT NULL"
    );
    Ok(sqlx::query_as(&sql).fetch_one(&mut **tx).await?)
}

/// Counts published tiers that do not match their scores.
pub async fn tiers_off(tx: &mut Tx<'_>, core_floor: i32, prime_floor: i32) -> Result<Checked, StoreError> {
    let tier = format!(
        "CASE WHEN p.score >= {prime_floor} THEN 'Prime' WHEN p.score >= {core_floor} THEN 'Core' ELSE 'Edge' END"
    );
    of_scores(tx, &format!("p.tier IS DISTINCT FROM {tier}")).await
}

/// Counts published scores that contradict their caps: the raw score is more than 0.005 above the weighted sum or above
/// a cap, or the published score is at least `step` milli-points above the raw score without a dwell.
pub async fn scores_above_caps(tx: &mut Tx<'_>, step: i32) -> Result<Checked, StoreError> {
    let violated = format!(
        "(p.provenance->>'raw_score')::numeric > (p.provenance->>'weighted_sum')::numeric + 0.005 \
         OR EXISTS (SELECT FROM json_array_elements(p.provenance->'caps') AS cap \
                    WHERE (cap->>'value')::numeric < (p.provenance->>'raw_score')::numeric) \
         OR (p.provenance->>'dwell' IS NULL AND p.score >= (p.provenance->>'raw_score')::numeric * 1000 + {step})"
    );
    of_scores(tx, &violated).await
}

/// Counts scores with a required platform input that has no source or no instant.
pub async fn inputs_without_source(tx: &mut Tx<'_>) -> Result<Checked, StoreError> {
    of_scores(
        tx,
        "EXISTS (SELECT FROM unnest(ARRAY['version_age_days', 'audits', 'strategy']) AS name \
                 WHERE p.provenance#>>ARRAY['inputs', 'platform', name, 'source'] IS NULL \
                    OR p.provenance#>>ARRAY['inputs', 'platform', name, 'observed_at'] IS NULL)",
    )
    .await
}

/// Tables of facts by fact kind, with the condition that leaves out withheld chains.
const FACTS: [(&str, &str); 15] = [
    ("chain", "chain f WHERE f.is_served"),
    ("protocol", "protocol f WHERE true"),
    ("curator", "curator f WHERE true"),
    ("asset", "asset f JOIN chain c USING (chain_id) WHERE c.is_served"),
    ("vault", "vault f JOIN chain c USING (chain_id) WHERE c.is_served"),
    ("vault_state", "vault_state f JOIN vault v ON v.id = f.vault_id JOIN chain c USING (chain_id) WHERE c.is_served"),
    ("exposure", "exposure f JOIN vault v ON v.id = f.vault_id JOIN chain c USING (chain_id) WHERE c.is_served"),
    ("market", "market f JOIN chain c USING (chain_id) WHERE c.is_served"),
    ("oracle_feed", "oracle_feed f JOIN chain c USING (chain_id) WHERE c.is_served"),
    ("mapping", "mapping f WHERE true"),
    ("event", "event f LEFT JOIN chain c USING (chain_id) WHERE f.state = 'published' AND coalesce(c.is_served, true)"),
    (
        "security_event",
        "security_event f LEFT JOIN chain c USING (chain_id) WHERE f.state = 'published' AND coalesce(c.is_served, true)",
    ),
    (
        "loss_case",
        "loss_case f WHERE f.is_active AND NOT f.chain_ids && ARRAY(SELECT chain_id FROM chain WHERE NOT is_served)",
    ),
    (
        "research_record",
        "given_research f WHERE NOT f.chain_ids && ARRAY(SELECT chain_id FROM chain WHERE NOT is_served)",
    ),
    (
        "research_prediction",
        "(SELECT provided_by AS source, made_at AS observed_at, vault_id FROM research_prediction WHERE provided_by IS NOT NULL) f \
         JOIN vault v ON v.id = f.vault_id JOIN chain c USING (chain_id) WHERE c.is_served",
    ),
];

#[derive(FromRow)]
struct SourceRow {
    source: String,
    #[sqlx(flatten, try_from = "Shared<SourceKind>")]
    kind: SourceKind,
}

shared_row! { SourceKind { kind, rows: i64, first_observed_at: At = "first_at", last_observed_at: At = "last_at" } }

/// Every source by name, with the number and times of the facts whose newest observation comes from it.
pub async fn sources(tx: &mut Tx<'_>) -> Result<Vec<Source>, StoreError> {
    let each = FACTS.map(|(kind, from)| {
        format!(
            "SELECT f.source, '{kind}' AS kind, count(*) AS rows, min(f.observed_at) AS first_at, max(f.observed_at) AS last_at \
             FROM {from} GROUP BY f.source"
        )
    });
    let sql = format!("SELECT * FROM ({}) AS told ORDER BY source COLLATE \"C\", kind", each.join(" UNION ALL "));
    let mut sources: Vec<Source> = Vec::new();
    for SourceRow { source, kind } in sqlx::query_as(&sql).fetch_all(&mut **tx).await? {
        match sources.last_mut().filter(|last| last.source == source) {
            Some(last) => last.kinds.push(kind),
            None => sources.push(Source { source, kinds: vec![kind] }),
        }
    }
    Ok(sources)
}
