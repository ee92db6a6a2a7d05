//! Tests of decoding logs and of splitting ranges.

use super::*;
use crate::abi::{AbiError, Creation, Event};
use std::string::{String, ToString};
use std::{format, vec};

fn address(byte: u8) -> Word {
    Word::from_address(Address([byte; 20]))
}

fn json(block: u64, index: u64, topics: &[Word], data: &[Word]) -> String {
    let topics: Vec<String> = topics.iter().map(|topic| format!("\"{topic}\"")).collect();
    let data: Vec<u8> = data.iter().flat_map(|word| word.0).collect();
    format!(
        r#"{{"address":"{}","topics":[{}],"data":"{}","blockNumber":"{block:#x}","blockHash":"{}","logIndex":"{index:#x}","removed":false,"transactionHash":"0x"}}"#,
        Address([9; 20]),
        topics.join(","),
        hex::encode(&data),
        BlockHash([u8::try_from(block).unwrap(); 32])
    )
}

fn transfer(block: u64, index: u64) -> String {
    json(block, index, &[Event::Transfer.topic(), address(1), address(2)], &[Word::from_u128(5)])
}

fn read(logs: &[String]) -> Result<Vec<Log>, LogError> {
    let asked = Asked {
        range: BlockRange::new(1, 9).unwrap(),
        contracts: &[Address([9; 20])],
        topics: &[Event::Transfer.topic()],
    };
    decode(serde_json::from_str(&format!("[{}]", logs.join(","))).unwrap(), asked, 3)
}

#[test]
fn logs_in_the_order_of_the_chain_are_read() {
    let logs = read(&[transfer(1, 7), transfer(2, 0), transfer(2, 1)]).unwrap();
    assert_eq!((logs.len(), logs[2].block.number, logs[2].index), (3, 2, 1));
    let expected = Parameters::Transfer { from: Address([1; 20]), to: Address([2; 20]), amount: Word::from_u128(5) };
    assert_eq!(logs[0].parameters(), Ok(expected));
    assert_eq!(read(&[]), Ok(vec![]));
    assert!(read(&[transfer(1, 0).replace(",\"removed\":false", "")]).is_ok(), "left out means false");
}

#[test]
fn a_list_that_does_not_match_the_question_or_the_chain_is_refused() {
    let one = transfer(2, 1);
    for (logs, expected) in [
        (vec![transfer(1, 0), transfer(1, 1), transfer(1, 2), transfer(1, 3)], LogError::TooMany),
        (vec![one.replace("\"removed\":false", "\"removed\":true")], LogError::Removed),
        (vec![transfer(10, 0)], LogError::NotAsked),
        (vec![one.replace("0909", "0808")], LogError::NotAsked),
        (vec![json(1, 1, &[Event::Deposit.topic()], &[])], LogError::NotAsked),
        (vec![json(1, 1, &[], &[])], LogError::NotAsked),
        (vec![one.clone(), one.clone()], LogError::Order),
        (vec![one.clone(), transfer(2, 0)], LogError::Order),
        (
            vec![
                one.clone(),
                transfer(2, 2)
                    .replace("0202020202020202020202020202020202020202020202020202020202020202", &"03".repeat(32)),
            ],
            LogError::Fork,
        ),
        (vec![one.replace("\"0x2\"", "null")], LogError::Malformed),
        (vec![one.replace("\"0x2\"", "\"0x02\"")], LogError::Malformed),
        (vec![one.replace("logIndex", "index")], LogError::Malformed),
        (vec!["7".into()], LogError::Malformed),
        (vec![json(1, 1, &[Event::Transfer.topic(); 5], &[])], LogError::TooLong),
    ] {
        assert_eq!(read(&logs), Err(expected), "{logs:?}");
    }
}

#[test]
fn an_event_with_another_number_of_topics_or_bytes_is_refused() {
    let of =
        |topics: &[Word], data: &[Word]| decode_one(serde_json::from_str(&json(1, 1, topics, data)).unwrap()).unwrap();
    let topic = Event::Transfer.topic();
    // ERC-721: the token's number is indexed.
    assert_eq!(of(&[topic, address(1), address(2), address(3)], &[]).parameters(), Err(EventError::Shape));
    assert_eq!(of(&[topic, address(1)], &[address(2), address(3)]).parameters(), Err(EventError::Shape));
    assert_eq!(of(&[topic, address(1), address(2)], &[]).parameters(), Err(EventError::Shape));
    assert_eq!(of(&[], &[]).parameters(), Err(EventError::OtherEvent));
    assert_eq!(of(&[address(1)], &[]).parameters(), Err(EventError::OtherEvent));
    let dirty = of(&[topic, Word::MAX, address(2)], &[Word::ZERO]);
    assert_eq!(dirty.parameters(), Err(EventError::Value(AbiError::Padding)));
    let mut long = of(&[topic, address(1), address(2)], &[Word::ZERO]);
    long.data.push(0);
    assert_eq!(long.parameters(), Err(EventError::Shape));
}

#[test]
fn an_owner_that_was_added_is_read_from_the_topic_or_from_the_data() {
    let topic = Event::AddedOwner.topic();
    for (topics, data) in [(vec![topic, address(4)], vec![]), (vec![topic], vec![address(4)])] {
        let log = decode_one(serde_json::from_str(&json(1, 1, &topics, &data)).unwrap()).unwrap();
        assert_eq!(log.parameters(), Ok(Parameters::AddedOwner { owner: Address([4; 20]) }));
    }
    let both = decode_one(serde_json::from_str(&json(1, 1, &[topic, address(4)], &[address(4)])).unwrap()).unwrap();
    assert_eq!(both.parameters(), Err(EventError::Shape));
}

#[test]
fn every_event_of_the_table_has_parameters() {
    for event in Event::ALL {
        let count = event.signature().split(',').count();
        let read = (0..=count.min(3)).filter_map(|indexed| {
            let topics: Vec<Word> = [event.topic()].into_iter().chain(vec![address(1); indexed]).collect();
            let data = vec![address(2); count - indexed];
            decode_one(serde_json::from_str(&json(1, 1, &topics, &data)).unwrap()).unwrap().parameters().ok()
        });
        assert!(read.count() >= 1, "{}", event.signature());
    }
}

fn pieces(mut ranges: Ranges, most: u64) -> Result<Vec<(u64, u64)>, SingleBlockTooLarge> {
    let mut read = vec![];
    while let Some(range) = ranges.next() {
        if range.last() - range.first() >= most {
            ranges.record_too_large()?;
        } else {
            read.push((range.first(), range.last()));
            ranges.record_read();
        }
    }
    Ok(read)
}

#[test]
fn a_range_that_is_too_large_is_halved_and_no_block_is_left_out_or_read_twice() {
    let ranges = |first, last, span| Ranges::new(BlockRange::new(first, last).unwrap(), span);
    assert_eq!(pieces(ranges(0, 10, 4), 9).unwrap(), [(0, 3), (4, 7), (8, 10)]);
    assert_eq!(pieces(ranges(7, 7, 100), 9).unwrap(), [(7, 7)]);
    for (last, span, most) in [(100, 1000, 1), (100, 7, 3), (99, 64, 5), (2, 3, 2), (1023, u64::MAX, 10)] {
        let read = pieces(ranges(0, last, span), most).unwrap();
        let blocks: Vec<u64> = read.iter().flat_map(|(first, last)| *first..=*last).collect();
        assert_eq!(blocks, (0..=last).collect::<Vec<_>>(), "{last} {span} {most}");
    }
}

#[test]
fn later_pieces_have_the_length_that_was_not_too_large() {
    let mut ranges = Ranges::new(BlockRange::new(0, 99).unwrap(), 40);
    ranges.record_too_large().unwrap();
    assert_eq!(ranges.span(), 20);
    let mut read = vec![];
    while let Some(range) = ranges.next() {
        read.push(range.first());
        ranges.record_read();
    }
    assert_eq!(read, [0, 20, 40, 60, 80]);
}

#[test]
fn a_single_block_that_is_too_large_is_an_error_and_the_largest_numbers_are_no_problem() {
    let mut ranges = Ranges::new(BlockRange::new(5, 6).unwrap(), 0);
    assert_eq!((ranges.span(), ranges.record_too_large()), (1, Err(SingleBlockTooLarge(5))));
    assert_eq!(ranges.next(), BlockRange::new(5, 5));
    let mut all = Ranges::new(BlockRange::new(0, u64::MAX).unwrap(), u64::MAX);
    all.record_too_large().unwrap();
    assert_eq!(all.next(), BlockRange::new(0, (1 << 63) - 1));
    assert_eq!(BlockRange::new(2, 1), None);
    for _ in 0..63 {
        all.record_too_large().unwrap();
    }
    assert_eq!(all.record_too_large().unwrap_err().to_string(), SingleBlockTooLarge(0).to_string());
    let mut end = Ranges::new(BlockRange::new(u64::MAX, u64::MAX).unwrap(), 9);
    end.record_read();
    assert_eq!(end.next(), None);
}

fn created(event: Creation, topics: &[Word], words: usize) -> Result<Address, EventError> {
    let topics: Vec<Word> = [event.topic()].into_iter().chain(topics.iter().copied()).collect();
    let log = decode_one(serde_json::from_str(&json(1, 1, &topics, &vec![Word::ZERO; words])).unwrap()).unwrap();
    log.created()
}

#[test]
fn a_factorys_event_names_the_vault_and_another_shape_names_none() {
    let [one, two, three] = [1, 2, 3].map(address);
    for (event, topics, words, vault) in [
        (Creation::CreateMetaMorpho, vec![one, two, three], 9, 1),
        (Creation::CreateVaultV2, vec![one, two, three], 1, 3),
        (Creation::ProxyCreated, vec![one], 5, 1),
        (Creation::NewVault, vec![one, two], 0, 1),
    ] {
        assert_eq!(created(event, &topics, words), Ok(Address([vault; 20])), "{}", event.signature());
        let fewer = topics.split_last().unwrap().1;
        assert_eq!(created(event, fewer, words), Err(EventError::Shape), "{}", event.signature());
        if words > 0 {
            assert_eq!(created(event, &topics, 0), Err(EventError::Shape), "{}", event.signature());
        }
        let mut wrong = topics.clone();
        wrong[usize::from(vault) - 1] = Word([0xff; 32]);
        assert_eq!(created(event, &wrong, words), Err(EventError::Value(AbiError::Padding)), "{}", event.signature());
    }
    assert_eq!(created(Creation::NewVault, &[one, two], 1), Err(EventError::Shape));
    let other = decode_one(serde_json::from_str(&transfer(1, 0)).unwrap()).unwrap();
    assert_eq!(other.created(), Err(EventError::OtherEvent));
}
