//! Numbers of the vault score: vector weights, the points of each observation, caps.

use super::mp;
use crate::rules::tiers::Tier;
use crate::scoring::MilliPoints;
use crate::scoring::vault::{CapId, Exit, IncidentClass, Oracle, Signers, Source, Strategy, Timelock, WorstDependency};

/// Weights of the asset, platform, control and history vectors, in percent.
pub const VECTOR_WEIGHTS: [i64; 4] = [35, 30, 20, 15];

/// How often exposures that age should be read again: 7 days. After [`EXPIRES_AFTER_CADENCES`](super::rubric::EXPIRES_AFTER_CADENCES) of
/// these they are unavailable.
pub const EXPOSURE_CADENCE_SECONDS: i64 = 604_800;

/// Weights of the mean and of the worst exposure in the asset vector, in tenths.
pub const BLEND: (u128, u128) = (7, 3);
/// Reciprocal of the share from which an exposure can count as the worst exposure: 20 for 5 percent.
pub const WORST_ONE_IN: u128 = 20;

/// Maximum points of an exposure, by its price source.
pub const fn oracle_cap(oracle: Oracle) -> MilliPoints {
    match oracle {
        Oracle::PushFeed | Oracle::None => MilliPoints::MAX,
        Oracle::AttestedPush => mp(9500),
        Oracle::PullFeed => mp(9000),
        Oracle::ExchangeRate => mp(8500),
        Oracle::Twap => mp(6000),
        Oracle::Fixed => mp(5000),
        Oracle::Custom | Oracle::Unknown => mp(4000),
    }
}

/// Haircut by liquidation loan-to-value in basis points; the first step that is not exceeded applies.
pub const LLTV_HAIRCUTS: [(u32, MilliPoints); 4] =
    [(8000, MilliPoints::ZERO), (8600, mp(250)), (9150, mp(500)), (u32::MAX, mp(1000))];
/// Haircuts where collateral and loan asset track the same reference.
pub const SAME_PEG_HAIRCUTS: [(u32, MilliPoints); 2] = [(9000, MilliPoints::ZERO), (u32::MAX, mp(250))];

/// Weights of maturity, audits, strategy and scale in the platform vector, in percent.
pub const PLATFORM_WEIGHTS: [u128; 4] = [35, 35, 15, 15];
/// Points by number of audits, from 0; more than four audits count as four.
pub const AUDITS: [MilliPoints; 5] = [MilliPoints::ZERO, mp(5000), mp(7000), mp(8500), mp(9500)];
/// Smallest live bounty, in whole dollars, that earns [`BOUNTY_BONUS`].
pub const BOUNTY_USD: u64 = 250_000;
/// Added to the audit points of an audited protocol with a bounty, in milli-points.
pub const BOUNTY_BONUS: i32 = 500;
/// An audit older than this many days, or undated, is stale.
pub const AUDIT_STALE_DAYS: u32 = 730;
/// Subtracted from the audit points when the newest audit is stale, in milli-points.
pub const STALE_AUDIT_LOSS: i32 = 1000;
/// Points by the protocol's TVL in whole dollars, descending; below the last bound [`SCALE_BELOW`] applies.
pub const SCALE: [(u64, MilliPoints); 5] = [
    (1_000_000_000, mp(10_000)),
    (250_000_000, mp(9000)),
    (50_000_000, mp(7500)),
    (10_000_000, mp(6000)),
    (1_000_000, mp(4000)),
];
/// Points of a TVL below every bound of [`SCALE`], or of an unknown TVL.
pub const SCALE_BELOW: MilliPoints = mp(2000);
/// Number of dependencies that do not lower the dependency factor.
pub const FREE_DEPENDENCIES: u32 = 3;
/// Reduction of the dependency factor by each further dependency, in basis points.
pub const DEPENDENCY_STEP_BP: u32 = 100;
/// The lowest dependency factor, in basis points.
pub const DEPENDENCY_FLOOR_BP: u32 = 7000;

/// Points of the strategy part of the platform vector.
pub const fn strategy_points(strategy: Strategy) -> MilliPoints {
    match strategy {
        Strategy::LendingPool | Strategy::IsolatedLending => mp(9500),
        Strategy::Savings => mp(8500),
        Strategy::CuratedLending => mp(8000),
        Strategy::AutoCompound | Strategy::VaultOfVaults => mp(6500),
        Strategy::Leveraged => mp(4000),
        Strategy::Offchain => mp(3000),
    }
}

/// The dependency factor of the worst dependency, before the reduction for many dependencies, in basis points.
pub const fn dependency_factor_bp(worst: WorstDependency) -> u32 {
    match worst {
        WorstDependency::None | WorstDependency::Known(Tier::Prime) => 10_000,
        WorstDependency::Known(Tier::Core) => 9200,
        WorstDependency::Known(Tier::Edge) => 7500,
        WorstDependency::Unknown => 8000,
    }
}

/// Weights of timelock, signers, exit and source in the control vector, in percent.
pub const CONTROL_WEIGHTS: [u128; 4] = [45, 30, 15, 10];
/// Points of a timelock of at least this many seconds, descending; for 0 seconds [`TIMELOCK_NONE`] applies.
pub const TIMELOCK: [(u64, MilliPoints); 6] = [
    (604_800, mp(9000)),
    (259_200, mp(8000)),
    (172_800, mp(7500)),
    (86_400, mp(6000)),
    (21_600, mp(4000)),
    (1, mp(2000)),
];
/// Timelock points of an immutable vault.
pub const TIMELOCK_IMMUTABLE: MilliPoints = MilliPoints::MAX;
/// Points without a timelock.
pub const TIMELOCK_NONE: MilliPoints = mp(1000);
/// Points of an unknown timelock.
pub const TIMELOCK_UNKNOWN: MilliPoints = mp(4000);
/// Points of a multisig of at least (threshold, owners), best first; below all of them [`SIGNERS_SINGLE`] applies.
pub const MULTISIG: [((u32, u32), MilliPoints); 4] =
    [((5, 8), mp(9000)), ((4, 0), mp(8000)), ((3, 0), mp(7000)), ((2, 0), mp(5000))];
/// Signer points of an immutable vault, or of one controlled by an on-chain vote.
pub const SIGNERS_NOBODY_OR_VOTE: MilliPoints = MilliPoints::MAX;
/// Signer points of a vault that one key can change.
pub const SIGNERS_SINGLE: MilliPoints = mp(1000);
/// Points of unknown signers.
pub const SIGNERS_UNKNOWN: MilliPoints = mp(3000);

/// Points of a timelock.
pub fn timelock_points(timelock: Timelock) -> MilliPoints {
    match timelock {
        Timelock::Immutable => TIMELOCK_IMMUTABLE,
        Timelock::Seconds(seconds) => super::at_least(seconds, &TIMELOCK, TIMELOCK_NONE),
        Timelock::Unknown => TIMELOCK_UNKNOWN,
    }
}

/// Points of the signers.
pub fn signers_points(signers: Signers) -> MilliPoints {
    match signers {
        Signers::Immutable | Signers::Dao => SIGNERS_NOBODY_OR_VOTE,
        Signers::Eoa => SIGNERS_SINGLE,
        Signers::Multisig { threshold, owners } => {
            let mut steps = MULTISIG.iter();
            let reached = steps.find(|((least, of), _)| threshold >= *least && owners >= *of);
            reached.map_or(SIGNERS_SINGLE, |(_, points)| *points)
        }
        Signers::Unknown => SIGNERS_UNKNOWN,
    }
}

/// Points of the exit part of the control vector.
pub const fn exit_points(exit: Exit) -> MilliPoints {
    match exit {
        Exit::Instant => MilliPoints::MAX,
        Exit::Queue7d => mp(6000),
        Exit::QueueLong | Exit::Gated | Exit::Unknown => mp(4000),
        Exit::Blockable => mp(2000),
    }
}

/// Points of the source part of the control vector.
pub const fn source_points(source: Source) -> MilliPoints {
    match source {
        Source::Verified => MilliPoints::MAX,
        Source::Partial => mp(5000),
        Source::None | Source::Unknown => MilliPoints::ZERO,
    }
}

/// Weights of seasoning, incidents and stability in the history vector, in percent.
pub const HISTORY_WEIGHTS: [u128; 3] = [40, 40, 20];
/// Stability points lost per basis point of drawdown, in milli-points.
pub const DRAWDOWN_LOSS_PER_BP: u32 = 40;
/// Drawdown from which stability is 0, in basis points.
pub const DRAWDOWN_TAKES_ALL_BP: u32 = 250;
/// Stability points with an unknown drawdown.
pub const STABILITY_UNKNOWN: MilliPoints = mp(5000);
/// Subtracted from stability for 72 hours of utilization above 0.95, in milli-points.
pub const HIGH_UTILIZATION_LOSS: i32 = 2000;
/// Subtracted from stability when TVL halved within 7 days, in milli-points.
pub const TVL_HALVED_LOSS: i32 = 1000;

/// Points that an incident of age 0 subtracts from the incident part of the history vector.
pub const fn incident_loss(class: IncidentClass) -> MilliPoints {
    match class {
        IncidentClass::MajorUnrecovered => mp(8000),
        IncidentClass::MajorRecovered => mp(5000),
        IncidentClass::Minor => mp(2000),
    }
}
/// Smallest part of the loss that must be returned for an incident to count as recovered, in parts per million.
pub const RECOVERED_FROM_PPM: u128 = 900_000;

/// The cap of a resolved major incident younger than this many days; the first step that fits applies.
pub const INCIDENT_CAPS: [(u32, MilliPoints); 3] = [(30, mp(3900)), (90, mp(6500)), (180, mp(7900))];
/// The cap of an unresolved major incident of any age.
pub const INCIDENT_UNRESOLVED: MilliPoints = mp(3900);
/// Caps by the smallest vector, as (bound, id, cap). Only the first entry whose bound exceeds the smallest vector applies.
pub const VECTOR_CAPS: [(MilliPoints, CapId, MilliPoints); 3] = [
    (mp(2000), CapId::VectorFloor, mp(4900)),
    (mp(4000), CapId::VectorWeak, mp(7400)),
    (mp(6500), CapId::PrimeGate, mp(7950)),
];
/// Cap of a vault on an unaudited protocol version.
pub const UNAUDITED: MilliPoints = mp(4900);
/// Utilization above this is a deficit: more is lent out than was supplied.
pub const DEFICIT_ABOVE_PPM: i64 = 1_000_000;
/// Cap of a vault in deficit.
pub const LIQUIDITY_DEFICIT: MilliPoints = mp(6000);
/// Cap of a vault with more than [`BAD_DEBT_PPM`] of bad debt.
pub const BAD_DEBT: MilliPoints = mp(4900);
/// Bad debt over TVL above this caps the score: 1 percent.
pub const BAD_DEBT_PPM: i64 = 10_000;
/// Cap during a data-quality quarantine.
pub const NEEDS_RISK_REVIEW: MilliPoints = mp(7900);
/// Cap of a vault younger than [`NEW_VAULT_DAYS`].
pub const NEW_VAULT: MilliPoints = mp(7400);
/// A vault younger than this many days is new.
pub const NEW_VAULT_DAYS: u32 = 30;
/// Cap of a vault smaller than [`LOW_TVL_USD`].
pub const LOW_TVL: MilliPoints = mp(7400);
/// A vault with a TVL below this many whole dollars is small.
pub const LOW_TVL_USD: u64 = 100_000;
/// Cap of a vault that one key can change without a delay.
pub const EOA_CONTROL: MilliPoints = mp(4900);
/// A vault scores at most this far above its asset vector, in milli-points.
pub const ASSET_DRAG_ABOVE: i32 = 1000;
/// Share from which the hard fail of a holding caps the vault, in parts per million: 5 percent.
pub const HOLDING_HARD_FAIL_PPM: u32 = 50_000;

/// `reward_heavy` is flagged when the rate without rewards is below the net rate divided by this number.
pub const REWARD_HEAVY_ONE_IN: i128 = 2;
/// `high_utilization` is flagged above this utilization: 0.95.
pub const HIGH_UTILIZATION_PPM: i64 = 950_000;
/// `single_market` is flagged when one exposure is above this many tenths of all exposures.
pub const SINGLE_MARKET_TENTHS: u128 = 6;
/// Reciprocal of the share from which an exposure with a custom or unknown oracle is flagged `custom_oracle`: 20 for 5 percent.
pub const CUSTOM_ORACLE_ONE_IN: u128 = 20;
/// `outlier_apr` is flagged only for net rates above this: 0.30.
pub const OUTLIER_APR_PPM: i64 = 300_000;
/// `outlier_apr` is flagged only for net rates above this many times the median of the peers.
pub const OUTLIER_TIMES_MEDIAN: i128 = 4;
/// `outlier_apr` is flagged only with at least this many peers.
pub const OUTLIER_MIN_PEERS: usize = 5;
