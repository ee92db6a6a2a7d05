//! Questions about the market price: peg, exit size, volatility.

use super::{DATA_CHAIN, EVERY, TEXT_CHAIN, TEXT_DATA, is, question};
use crate::scoring::asset::AttestationCadence::{Annual, Monthly, Quarterly, Weekly};
use crate::scoring::asset::Dimension;
use crate::scoring::rubric::{Question, Questionnaire};

pub(super) const PEG_STABILITY: Questionnaire = Questionnaire {
    dimension: Dimension::PegStability,
    asks: "How near the market price stays to its reference: a currency, a metal, or the exchange rate of a staking token.",
    questions: &[
        Question {
            weight: 35,
            text: "How far did the price depart from the reference in the last 24 months, at worst? Daily closes, or a dated public record. A price that only one venue showed for less than an hour does not count: answer what the deepest other venue showed, and say so in the note.",
            how_to_read: "Price series, or the public record of the event.",
            ..question(
                "events_24m",
                TEXT_DATA,
                Monthly,
                &[
                    is("none_over_1pct", 1000, "At no time more than 1 %."),
                    is("1_to_3pct", 700, "More than 1 % and up to 3 %; the price came back."),
                    is("3_to_10pct", 400, "More than 3 % and up to 10 %; the price came back."),
                    is("over_10pct_recovered", 200, "More than 10 %; the price came back."),
                    is("not_recovered", 0, "The price did not come back.").at_most(100),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How far did the price depart from the reference since launch, at worst?",
            how_to_read: "Price series, or the public record of the event.",
            ..question(
                "worst_ever",
                TEXT_DATA,
                Annual,
                &[
                    is("none_over_2pct", 1000, "At no time more than 2 %."),
                    is("2_to_5pct", 800, "More than 2 % and up to 5 %; the price came back."),
                    is("5_to_15pct", 600, "More than 5 % and up to 15 %; the price came back."),
                    is(
                        "under_1y",
                        500,
                        "The token is younger than a year, and no departure of more than 5 % is known.",
                    ),
                    is("over_15pct", 400, "More than 15 %; the price came back."),
                    is("not_recovered", 0, "The price did not come back.").at_most(100),
                ],
            )
        },
        Question {
            weight: 15,
            text: "How far is a dated price from the reference?",
            how_to_read: "latestRoundData() of a push feed at a block, or a dated price list.",
            ..question(
                "spot",
                DATA_CHAIN,
                Weekly,
                &[
                    is("within_0_1pct", 1000, "Up to 0.1 %."),
                    is("within_0_3pct", 900, "Up to 0.3 %."),
                    is("within_0_5pct", 800, "Up to 0.5 %."),
                    is("within_1pct", 600, "Up to 1 %."),
                    is("within_2pct", 350, "Up to 2 %."),
                    is("over_2pct", 0, "More than 2 %."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "Who can close a gap by redeeming with the issuer or through a stability module?",
            how_to_read: "Whether redeem(), sellGem(), requestWithdrawals() or their like accept any caller.",
            ..question(
                "arbitrage",
                TEXT_CHAIN,
                Annual,
                &[
                    is("anyone_onchain", 1000, "Any holder, on chain, from the backing."),
                    is("module_capped", 900, "Any holder, through a module with a cap or a fee."),
                    is("approved_parties", 800, "Identified customers or listed market makers."),
                    is("rates_only", 500, "Nobody directly; interest rates or market operations act on the price."),
                    is("nobody", 0, "Nobody."),
                ],
            )
        },
    ],
};

pub(super) const LIQUIDITY: Questionnaire = Questionnaire {
    dimension: Dimension::Liquidity,
    asks: "How much can be sold, and how many independent parties accept the asset.",
    questions: &[
        Question {
            weight: 20,
            text: "What amount can be sold with a loss of 1 % to the price?",
            how_to_read: "Quotes at one block, summed over the named pools, or a dated data set of such quotes.",
            ..question(
                "depth_1pct",
                DATA_CHAIN,
                Weekly,
                &[
                    is("ge_1pct", 1000, "At least 1 % of the supply, or 50 million USD."),
                    is("ge_0_3pct", 800, "At least 0.3 % of the supply, or 10 million USD."),
                    is("ge_0_1pct", 600, "At least 0.1 % of the supply, or 2 million USD."),
                    is("ge_200k", 400, "At least 200,000 USD."),
                    is("less", 100, "Less."),
                ],
            )
        },
        Question {
            weight: 30,
            text: "In how many Aave and Compound v3 markets is it a reserve or collateral? Each listing passed a vote of third parties.",
            how_to_read: "Count by address in the market lists.",
            ..question(
                "lending_markets",
                DATA_CHAIN,
                Quarterly,
                &[
                    is("ge_8", 1000, "8 or more."),
                    is("4_7", 900, "4 to 7."),
                    is("2_3", 750, "2 or 3."),
                    is("1", 600, "1."),
                    is("0", 300, "None."),
                ],
            )
        },
        Question {
            weight: 25,
            text: "How many live pool vaults of the Beefy list hold it?",
            how_to_read: "Count of active vaults by token address, or by symbol where the chain has one token of that symbol.",
            ..question(
                "pools",
                DATA_CHAIN,
                Quarterly,
                &[
                    is("ge_50", 1000, "50 or more."),
                    is("15_49", 900, "15 to 49."),
                    is("5_14", 750, "5 to 14."),
                    is("1_4", 550, "1 to 4."),
                    is("0", 250, "None."),
                ],
            )
        },
        Question {
            weight: 10,
            text: "On how many chains does it have a push price feed?",
            how_to_read: "Feeds of kind price in the oracle list.",
            ..question(
                "feed",
                DATA_CHAIN,
                Quarterly,
                &[is("ge_3", 1000, "3 or more."), is("1_2", 800, "1 or 2."), is("0", 300, "None.")],
            )
        },
        Question {
            weight: 15,
            text: "What value is in circulation?",
            how_to_read: "totalSupply() times price, or the issuer's report.",
            ..question(
                "size",
                EVERY,
                Monthly,
                &[
                    is("ge_5b", 1000, "At least 5 billion USD."),
                    is("ge_1b", 900, "At least 1 billion USD."),
                    is("ge_250m", 800, "At least 250 million USD."),
                    is("ge_50m", 600, "At least 50 million USD."),
                    is("ge_10m", 400, "At least 10 million USD."),
                    is("lt_10m", 200, "Less."),
                ],
            )
        },
    ],
};

pub(super) const VOLATILITY: Questionnaire = Questionnaire {
    dimension: Dimension::Volatility,
    asks: "How much a free-floating price moves.",
    questions: &[
        Question {
            weight: 60,
            text: "What is the highest liquidation factor that a Compound v3 market grants against a dollar loan? Lenders stand behind it with money.",
            how_to_read: "getAssetInfoByAddress().liquidateCollateralFactor, or the deployment files. Leave it unanswered if these markets accept no asset of the kind at all, as with tokenised equities.",
            ..question(
                "lender_threshold",
                EVERY,
                Quarterly,
                &[
                    is("ge_88", 800, "0.88 or more."),
                    is("ge_84", 700, "0.84 or more."),
                    is("ge_80", 600, "0.80 or more."),
                    is("ge_75", 500, "0.75 or more."),
                    is("ge_65", 400, "0.65 or more."),
                    is("lt_65", 250, "Lower."),
                    is("not_listed", 150, "No market accepts it, although markets accept others of its kind."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "What is the annualised standard deviation of daily returns over 90 days?",
            how_to_read: "getRoundData() history of a feed, or a price series.",
            ..question(
                "realised_90d",
                DATA_CHAIN,
                Weekly,
                &[
                    is("le_40", 1000, "Up to 40 %."),
                    is("le_60", 750, "Up to 60 %."),
                    is("le_90", 500, "Up to 90 %."),
                    is("le_130", 300, "Up to 130 %."),
                    is("more", 100, "More."),
                ],
            )
        },
        Question {
            weight: 20,
            text: "How deep was the deepest fall from a peak in 12 months?",
            how_to_read: "getRoundData() history of a feed, or a price series.",
            ..question(
                "drawdown_12m",
                DATA_CHAIN,
                Monthly,
                &[
                    is("le_30", 1000, "Up to 30 %."),
                    is("le_50", 700, "Up to 50 %."),
                    is("le_70", 450, "Up to 70 %."),
                    is("le_85", 250, "Up to 85 %."),
                    is("more", 50, "More."),
                ],
            )
        },
    ],
};
