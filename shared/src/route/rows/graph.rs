//! The exposure graph and decisions: parameters and rows.

use crate::model::spelling;
use crate::route::param::Param;
use crate::route::row::Body;
use crate::route::typed::kinds::*;
use crate::route::typed::params;

/// Room for fifty keys of the longest chains and addresses, and then some.
const KEYS_CHARS: usize = 6_000;
/// A thousand positions of 120 bytes each, with room for how clients write JSON.
pub(in crate::route) const CHECK_BODY: Body = Body::Json { max_bytes: 512 * 1024 };

params! {
    VaultKeys: RequiredText =
        Param::text("vaults", KEYS_CHARS, "Keys of vaults, at most 50, separated by commas: chain number, colon, address.").written(spelling::VAULT_KEYS).required();
}

macro_rules! graph_rows {
    ($next:ident $(, $later:ident)*; $($before:tt)*) => {
        $next! { $($later),*; $($before)*
            LookThrough: Get "/v1/graph/look-through" {
                access: Decisioning, family: GraphRead, cache: Cache::NEVER,
                query: [VaultKeys], answers: "Data<LookedThrough>", errors: [TooManyItems, MaterializationUnavailable],
                about: "What positions in vaults are exposed to once every vault inside them is opened: assets, wrappers, feeds, bridges, signers. At most 50; a vault that the snapshot does not have is null.",
            }
            Breach: Get "/v1/graph/breach" {
                access: Decisioning, family: GraphRead, cache: Cache::NEVER,
                query: [], answers: "Data<Preview>", errors: [MaterializationUnavailable],
                deprecated: [BREACH_OBSERVED_AT, BREACH_PROTOCOL_ID, BREACH_SOURCE, BREACH_CHAINS, BREACH_TOP_MARKETS],
                about: "What a fall of all collateral would do to lending markets, as floors and bounds from their totals; a preview, to size nothing by.",
            }
            IncidentExposure: Get "/v1/graph/incident-exposure" {
                access: Decisioning, family: GraphRead, cache: Cache::NEVER,
                query: [VaultKeys], answers: "Data<Incidents<ByKey>>", errors: [TooManyItems, MaterializationUnavailable],
                about: "Which part of vaults stands behind unresolved incidents of the last year, their own and those of vaults inside them. At most 50; a vault that the snapshot does not have is null. eventId is the number of /v1/events/{id}.",
            }
            IncidentSummary: Get "/v1/graph/incident-exposure/summary" {
                access: Decisioning, family: GraphRead, cache: Cache::NEVER,
                query: [], answers: "Data<Incidents<IncidentSummary>>", errors: [MaterializationUnavailable],
                about: "The same of all vaults, by the protocols whose vaults were hit; each vault's value counts once.",
            }
            GraphSnapshot: Get "/v1/graph/snapshot/{id}" {
                access: Public, family: GraphRead, cache: Cache::public(60), tags: [Graph],
                fold: [0: Lower],
                query: [], answers: "Data<Manifest>", errors: [InvalidParameter, MaterializationUnavailable],
                about: "The manifest of a frozen snapshot: its bodies of facts with their hashes, and from when the newest fact of each is. Before the first build the answer is 503, as on every graph route.",
            }
            GraphCheck: Post "/v1/graph/check" {
                access: Decisioning, family: GraphCheck, cache: Cache::NEVER,
                body: CHECK_BODY,
                query: [], answers: "Data<CheckResult>",
                errors: [InvalidBody, TooManyItems, PayloadTooLarge, UnsupportedMediaType, MaterializationUnavailable],
                deprecated: [CHECK_LOSS],
                about: "A portfolio against its limits, and with issue=true the signed decision: the same check has one decision, until a signer's retirement voids it. Vaults named twice are one position; limits are rounded down to millionths.",
            }
            DecisionById: Get "/v1/graph/decision/{id}" {
                access: Public, family: GraphRead, cache: Cache::public(60), tags: [Signers],
                fold: [0: Hash],
                query: [], answers: "Data<SealedDecision>", errors: [InvalidParameter, NotFound],
                about: "A signed decision as it was issued: the envelope's text and its signature, for whoever verifies it alone.",
            }
            SignerList: Get "/v1/graph/signers" {
                access: Public, family: GraphRead, cache: Cache::public(60), tags: [Signers],
                query: [Page, OptionalLimit], answers: "Data<Vec<PublishedSigner>>", errors: [],
                about: "The registry: every key that may sign decisions or once might, with the time in which it may. In the order of activation.",
            }
            DecisionVerify: Get "/v1/graph/decision/{id}/verify" {
                access: Public, family: GraphRead, cache: Cache::public(60), tags: [Signers],
                fold: [0: Hash],
                query: [], answers: "Data<Verification>", errors: [InvalidParameter],
                about: "Whether a decision is ours and as it was made: recomputed at the edge from the stored envelope, its signature and the signer registry. While the origin is away the last good copy answers, marked stale; if the registry is known to have changed since, signerActiveAtIssuance is false until it can be read.",
            }
        }
    };
}

pub(in crate::route) use graph_rows;
