//! Questions about a protocol or a vault, whose answers are facts instead of points.

use super::{TEXT, TEXT_CHAIN};
use crate::scoring::asset::AttestationCadence::{Annual, Quarterly, SemiAnnual};
use crate::scoring::rubric::SourceKind::{self, Chain, Dataset, Document, Repository};
use crate::scoring::rubric::{ProtocolInput, ProtocolQuestion};

const READ: &[SourceKind] = &[Document, Repository, Dataset, Chain];
const COUNTED: &[SourceKind] = &[Dataset, Chain];

/// All questions, in the order of [`ProtocolInput::ALL`].
pub const PROTOCOL_QUESTIONS: [ProtocolQuestion; 10] = [
    ProtocolQuestion {
        input: ProtocolInput::VersionFirstSeen,
        text: "On which day was the first transaction of the deployed version, not of the brand?",
        value: "a date, YYYY-MM-DD; a later date than the true one is a permitted lower bound of the age",
        evidence: READ,
        cadence: None,
        how_to_read: "Block of the contract's creation, first event of its factory, release, or the first deposit seen.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Audit,
        text: "Which independent firm has published a report on the deployed version?",
        value: "an object {firm, date, scope}; one answer for each report",
        evidence: TEXT,
        cadence: None,
        how_to_read: "File names of the audit folder, or the page of reports. Drafts, contests without a report and reports on another version do not count.",
    },
    ProtocolQuestion {
        input: ProtocolInput::BountyUsd,
        text: "What is the maximum of a live bug bounty that names these contracts?",
        value: "whole USD; 0 for no programme found in a stated search",
        evidence: TEXT,
        cadence: Some(SemiAnnual),
        how_to_read: "Page of the programme.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Strategy,
        text: "What may a vault's contract do with a deposit?",
        value: "one of the strategies of the platform vector",
        evidence: TEXT_CHAIN,
        cadence: Some(Annual),
        how_to_read: "The first that applies: somebody decides off chain (offchain), borrows (leveraged), allocates to other vaults (vault_of_vaults), sells rewards (auto_compound), a curator picks markets (curated_lending), one market (isolated_lending), pooled collateral (lending_pool), the issuer pays a rate (savings).",
    },
    ProtocolQuestion {
        input: ProtocolInput::ProtocolTvlUsd,
        text: "What value is locked in the protocol?",
        value: "whole USD; a lower bound is permitted",
        evidence: COUNTED,
        cadence: Some(Quarterly),
        how_to_read: "Sum of totalAssets() over the protocol's vaults at a block, or of a dated list.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Dependencies,
        text: "Which protocols stop or empty the vaults if they fail?",
        value: "a list of ids of protocols; an empty list for none",
        evidence: TEXT,
        cadence: Some(Annual),
        how_to_read: "Targets of the strategies in documentation or source.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Timelock,
        text: "How many seconds lie between announcing and executing the most harmful change?",
        value: "whole seconds, 0 for none, or \"immutable\"",
        evidence: TEXT_CHAIN,
        cadence: Some(SemiAnnual),
        how_to_read: "getMinDelay(), timelock() or delay() of the contract that executes upgrades, new markets and changes of strategy.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Signers,
        text: "Who can order that change?",
        value: "\"immutable\", \"dao\", \"eoa\" or {threshold, owners}",
        evidence: TEXT_CHAIN,
        cadence: Some(SemiAnnual),
        how_to_read: "getThreshold() and getOwners() of the account; an account without code is an eoa.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Exit,
        text: "How does a depositor leave?",
        value: "one of the exits of the control vector",
        evidence: TEXT_CHAIN,
        cadence: Some(SemiAnnual),
        how_to_read: "maxWithdraw() from idle funds or liquid markets, roles that can pause, functions of a queue.",
    },
    ProtocolQuestion {
        input: ProtocolInput::Source,
        text: "Is the source of the deployed code published and verified?",
        value: "\"verified\", \"partial\" or \"none\"",
        evidence: TEXT_CHAIN,
        cadence: None,
        how_to_read: "Match of vault and implementation in an explorer or in Sourcify.",
    },
];

/// The question about an input.
pub const fn protocol_question(input: ProtocolInput) -> &'static ProtocolQuestion {
    match input {
        ProtocolInput::VersionFirstSeen => &PROTOCOL_QUESTIONS[0],
        ProtocolInput::Audit => &PROTOCOL_QUESTIONS[1],
        ProtocolInput::BountyUsd => &PROTOCOL_QUESTIONS[2],
        ProtocolInput::Strategy => &PROTOCOL_QUESTIONS[3],
        ProtocolInput::ProtocolTvlUsd => &PROTOCOL_QUESTIONS[4],
        ProtocolInput::Dependencies => &PROTOCOL_QUESTIONS[5],
        ProtocolInput::Timelock => &PROTOCOL_QUESTIONS[6],
        ProtocolInput::Signers => &PROTOCOL_QUESTIONS[7],
        ProtocolInput::Exit => &PROTOCOL_QUESTIONS[8],
        ProtocolInput::Source => &PROTOCOL_QUESTIONS[9],
    }
}
