//! Property of the decoder of `eth_getLogs`.

use rds_chain::Address;
use rds_chain::abi::{Creation, Event, Word};
use rds_chain::logs::{self, Asked, BlockRange};
use serde_json::value::RawValue;

const MAX: usize = 8;

/// An accepted list is what was asked for, in the order of the chain; no parameter is made up, and no vault has another's address.
pub fn holds(data: &[u8]) {
    let Some((first, text)) = data.split_first() else { return };
    let Ok(result) = serde_json::from_slice::<Box<RawValue>>(text) else { return };
    let Some(range) = BlockRange::new(1, u64::from(first % 16)) else { return };
    let contracts: &[Address] = if first & 0x10 == 0 { &[] } else { &[Address([9; 20])] };
    let of_events = Event::ALL.iter().map(|event| event.topic());
    let topics: Vec<Word> = of_events.chain(Creation::ALL.iter().map(|event| event.topic())).collect();
    let topics = if first & 0x20 == 0 { topics.as_slice() } else { &[] };
    let Ok(logs) = logs::decode(&result, Asked { range, contracts, topics }, MAX) else { return };
    assert!(logs.len() <= MAX);
    assert!(logs.windows(2).all(|pair| {
        let place = |log: &logs::Log| (log.block.number, log.index);
        place(&pair[0]) < place(&pair[1])
    }));
    for log in logs {
        assert!((range.first()..=range.last()).contains(&log.block.number));
        assert!(contracts.is_empty() || contracts.contains(&log.address));
        assert!(topics.is_empty() || log.topics.first().is_some_and(|topic| topics.contains(topic)));
        assert!(log.topics.len() <= logs::MAX_TOPICS && log.data.len() <= logs::MAX_DATA_BYTES);
        if log.parameters().is_ok() {
            assert!(log.event().is_some() && log.created().is_err());
        }
        if let Ok(vault) = log.created() {
            assert!(log.topics.contains(&Word::from_address(vault)));
        }
    }
}
