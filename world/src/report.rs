//! The figures of a run, and the bounds that they must keep.

use crate::ledger::KeyCount;
use crate::world::World;
use std::fmt::Write;

/// Share of the allowed requests that must be admitted, in thousandths.
const ADMITTED_PERMILLE: u64 = 980;
/// Requests of the hot key for each message to its object, at least.
const REQUESTS_FOR_A_CALL: u64 = 20;

/// The figures of one run.
pub struct Report {
    pub text: String,
    /// Bounds that do not hold.
    pub broken: Vec<String>,
    pub requests: u64,
    pub admitted: u64,
}

impl Report {
    pub fn of(world: &World) -> Self {
        let ledger = world.ledger.borrow();
        let (mut text, mut broken) = (String::new(), world.ether.violations());
        let sum = |part: fn(&KeyCount) -> u64| ledger.keys.iter().map(part).sum::<u64>();
        let seconds = world.ether.runtime.now() / 1_000_000;
        let network = &world.ether.network;
        let (requests, admitted) = (sum(|key| key.sent), sum(|key| key.admitted));
        let mut line = |name: &str, value: String| _ = writeln!(text, "  {name:<46} {value}");
        line("edges, keys, simulated seconds", format!("{}, {}, {seconds}", world.edges.len(), ledger.keys.len()));
        line("messages sent, lost", format!("{}, {}", network.sent.get(), network.lost.get()));
        line("requests with a key", requests.to_string());
        line("  admitted, of them from reservations", format!("{admitted}, {}", sum(|key| key.reserved)));
        line(
            "  429, 401, 503",
            format!("{}, {}, {}", sum(|key| key.refused), sum(|key| key.rejected), sum(|key| key.unavailable)),
        );
        line("  refused while the edge was cut off", sum(|key| key.disturbed).to_string());
        let ended = requests - admitted - sum(|key| key.refused + key.rejected + key.unavailable + key.disturbed);
        line("  ended with their isolate", ended.to_string());
        let full = ledger.keys.iter().filter(|key| key.fullest == key.limit).count();
        line("keys that used up a window to the last request", full.to_string());
        line("requests above a limit, and other violations", world.ether.violated().to_string());
        line("requests after an acknowledged revocation", sum(|key| key.after_revocation).to_string());
        let (address_sent, address_refused) = (ledger.addresses_sent, ledger.addresses_refused);
        line(
            "requests without a key, admitted, 429",
            format!("{address_sent}, {}, {address_refused}", ledger.addresses_admitted),
        );
        if let Some(hot) = ledger.keys.first() {
            let allowed = hot.admitted + hot.refused + hot.unavailable;
            let permille = hot.admitted * 1_000 / allowed.max(1);
            line("hot key: limit, fullest window", format!("{}, {}", hot.limit, hot.fullest));
            line("hot key: sent, 429, 503", format!("{}, {}, {}", hot.sent, hot.refused, hot.unavailable));
            line("hot key: admitted of allowed", format!("{}.{} %", permille / 10, permille % 10));
            let tenths = hot.sent * 10 / hot.calls.max(1);
            line("hot key: requests for each object call", format!("{}.{}", tenths / 10, tenths % 10));
            if permille < ADMITTED_PERMILLE {
                broken.push(format!("only {permille} thousandths of the hot key's allowed requests were admitted"));
            }
            if tenths < REQUESTS_FOR_A_CALL * 10 {
                broken.push(format!("an object call for {tenths} tenths of a request of the hot key"));
            }
        }
        let reads = world.publication.facts.reads.get();
        let acknowledgements = world.publication.facts.acknowledgements.get();
        line(
            "reads sent, answered with the list, from rows",
            format!("{}, {}, {}", reads.sent, reads.answered, reads.from_replica),
        );
        line("changes acknowledged", acknowledgements.to_string());
        line("  reads that lacked one, lease held", reads.stale.to_string());
        line("  the same, marked as stale", reads.marked.to_string());
        line(
            "  without an answer of the tag versions",
            format!("{}, lacking {} at most", reads.without_lease, reads.most_lacking),
        );
        line("  after the edge's clock was set back", reads.set_back.to_string());
        line("log: lines, SHA-256", format!("{}, {}", world.ether.journal.lines(), world.ether.journal.digest()));
        Report { text, broken, requests, admitted }
    }
}
