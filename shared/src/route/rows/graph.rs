//! The exposure graph and decisions: parameters and rows.

use crate::model::spelling;
use crate::route::param::Param;
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Maximum length of `vaults`, in characters: enough for 50 keys with the longest chain ids and addresses.
const MAX_KEYS_CHARS: usize = 6_000;
/// Body of a check: enough for 1,000 positions of 120 bytes each, with a margin for differences in JSON formatting.
pub(in crate::route) const CHECK_BODY: Body = Body::Json { max_bytes: 512 * 1024 };

params! {
    VaultKeys: RequiredText =
        Param::text("vaults", MAX_KEYS_CHARS, "Vault keys, at most 50, separated by commas. A vault key is the chain id, a colon and the \
            address.").pattern(spelling::VAULT_KEYS).required();
}

macro_rules! graph_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            LookThrough: Get "/v1/graph/look-through" {
                access: Decisioning, rate_limit_class: GraphRead, cache: Cache::NEVER,
                query: [VaultKeys], answers: "Data<LookedThrough>", errors: [TooManyItems, MaterializationUnavailable],
                about: "What positions in vaults are exposed to: assets, wrappers, oracle feeds, bridges and signers, with look-through of vaults inside \
                       vaults. At most 50 vaults; a vault that the snapshot does not contain is null.",
            }
            Breach: Get "/v1/graph/breach" {
                access: Decisioning, rate_limit_class: GraphRead, cache: Cache::NEVER,
                query: [], answers: "Data<Preview>", errors: [MaterializationUnavailable],
                deprecated: [BREACH_OBSERVED_AT, BREACH_PROTOCOL_ID, BREACH_SOURCE, BREACH_CHAINS, BREACH_TOP_MARKETS],
                about: "Projected effect of a fall of all collateral prices on lending markets. The figures are lower and upper bounds, computed from market \
                       totals. They are a preview and not suitable for sizing positions.",
            }
            IncidentExposure: Get "/v1/graph/incident-exposure" {
                access: Decisioning, rate_limit_class: GraphRead, cache: Cache::NEVER,
                query: [VaultKeys], answers: "Data<Incidents<ByKey>>", errors: [TooManyItems, MaterializationUnavailable],
                about: "The part of each vault's value that is exposed to unresolved incidents of the last year, its own and those of vaults inside it. At \
                       most 50 vaults; a vault that the snapshot does not contain is null. `eventId` is the id in `/v1/events/{id}`.",
            }
            IncidentSummary: Get "/v1/graph/incident-exposure/summary" {
                access: Decisioning, rate_limit_class: GraphRead, cache: Cache::NEVER,
                query: [], answers: "Data<Incidents<IncidentSummary>>", errors: [MaterializationUnavailable],
                about: "Incident exposure of all vaults, by the protocols whose vaults had incidents. Each vault's value counts once.",
            }
            GraphSnapshot: Get "/v1/graph/snapshot/{id}" {
                access: Public, rate_limit_class: GraphRead, cache: Cache::public(60), tags: [Graph],
                fold: [0: Lower],
                query: [], answers: "Data<Manifest>", errors: [InvalidParameter, MaterializationUnavailable],
                about: "The manifest of a frozen exposure graph snapshot: its sets of facts, each with its hash and the time of its newest fact. Before the \
                       first snapshot is built the response is 503.",
            }
            GraphCheck: Post "/v1/graph/check" {
                access: Decisioning, rate_limit_class: GraphCheck, cache: Cache::NEVER,
                body: CHECK_BODY,
                query: [], answers: "Data<CheckResult>",
                errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType, MaterializationUnavailable],
                deprecated: [CHECK_LOSS],
                about: "Checks a portfolio against its limits. With `issue` set to true the response includes a signed decision; a repeated check returns the \
                       same decision, until a signer's retirement voids it. Positions in the same vault are added up; limits are rounded down to millionths.",
            }
            DecisionById: Get "/v1/graph/decision/{id}" {
                access: Public, rate_limit_class: GraphRead, cache: Cache::public(60), tags: [Signers],
                fold: [0: Hash],
                query: [], answers: "Data<SealedDecision>", errors: [InvalidParameter, NotFound],
                about: "A signed decision as it was issued: the text of the envelope and its signature, for clients that verify it themselves.",
            }
            SignerList: Get "/v1/graph/signers" {
                access: Public, rate_limit_class: GraphRead, cache: Cache::public(60), tags: [Signers],
                query: [Page, OptionalLimit], answers: "Data<Vec<PublishedSigner>>", errors: [],
                about: "The signer registry: every key that is or was allowed to sign decisions, with the period for which it is valid, in the order of \
                       activation.",
            }
            DecisionVerify: Get "/v1/graph/decision/{id}/verify" {
                access: Public, rate_limit_class: GraphRead, cache: Cache::public(60), tags: [Signers],
                fold: [0: Hash],
                query: [], answers: "Data<Verification>", errors: [InvalidParameter],
                about: "Whether a decision was issued by this service and is unchanged. The result is recomputed from the stored envelope, its signature and \
                       the signer registry. During an outage the last good response is served and marked stale; if the registry is known to have changed \
                       since, `signerActiveAtIssuance` is false until the registry can be read.",
            }
        }
    };
}

pub(in crate::route) use graph_rows;
