//! The ABI against `alloy-sol-types`, an independent implementation.

use alloy_sol_types::private::{Address as AlloyAddress, U256};
use alloy_sol_types::sol_data::{
    Address as SolAddress, Array, Bool, Bytes, FixedBytes, Int, String as SolString, Uint,
};
use alloy_sol_types::{SolType, SolValue};
use proptest::prelude::*;
use rds_chain::Address;
use rds_chain::abi::{AbiError, Call, Creation, Data, Event, Function, Word};

type Amounts = Array<(SolAddress, Uint<256>)>;
type Results = Array<(Bool, Bytes)>;
const MAX: usize = 64;

fn word() -> impl Strategy<Value = Word> {
    // Small numbers, large numbers, and words whose padding is nearly that of a type.
    prop_oneof![
        any::<[u8; 32]>().prop_map(Word),
        any::<u64>().prop_map(|number| Word::from_u128(number.into())),
        any::<u128>().prop_map(Word::from_u128),
        any::<i128>().prop_map(Word::from_i128),
        any::<[u8; 20]>().prop_map(|bytes| Word::from_address(Address(bytes))),
        (0..4_u8, 0..32_usize).prop_map(|(byte, at)| {
            let mut word = Word::ZERO;
            word.0[at] = byte;
            word
        }),
    ]
}

proptest! {
    #[test]
    fn decimal_digits_are_those_of_alloy(bytes: [u8; 32], text in "[0-9]{1,79}") {
        let number = U256::from_be_bytes(bytes);
        prop_assert_eq!(Word(bytes).to_decimal(), number.to_string());
        prop_assert_eq!(Word::from_decimal(&number.to_string()), Some(Word(bytes)));
        prop_assert_eq!(Word::from_decimal(&text).map(|word| word.0), U256::from_str_radix(&text, 10).ok().map(|it| it.to_be_bytes()));
    }

    #[test]
    fn one_word_types_are_read_as_by_alloy(word in word()) {
        let bytes = &word.0;
        prop_assert_eq!(word.to_u64().ok(), Uint::<64>::abi_decode_validate(bytes).ok());
        prop_assert_eq!(word.to_u128().ok(), Uint::<128>::abi_decode_validate(bytes).ok());
        prop_assert_eq!(word.to_i128().ok(), Int::<128>::abi_decode_validate(bytes).ok());
        prop_assert_eq!(word.to_bool().ok(), Bool::abi_decode_validate(bytes).ok());
        prop_assert_eq!(word.to_address().ok().map(|it| it.0), SolAddress::abi_decode_validate(bytes).ok().map(|it| it.0.0));
        prop_assert_eq!(word.to_fixed::<4>().ok(), FixedBytes::<4>::abi_decode_validate(bytes).ok().map(|it| it.0));
        let number = U256::from_be_bytes(word.0);
        prop_assert_eq!(usize::from(word.bit_length()), number.bit_len());
        prop_assert_eq!(word.to_uint(96).is_ok(), number.bit_len() <= 96);
    }

    #[test]
    fn sums_and_differences_are_those_of_alloy(left in word(), right in word()) {
        let number = |word: Word| U256::from_be_bytes(word.0);
        let (sum, difference) = (number(left).checked_add(number(right)), number(left).checked_sub(number(right)));
        prop_assert_eq!(left.plus(right).map(number), sum);
        prop_assert_eq!(left.minus(right).map(number), difference);
    }

    #[test]
    fn one_word_types_are_written_as_by_alloy(unsigned: u128, signed: i128, address: [u8; 20], flag: bool, fixed: [u8; 4]) {
        prop_assert_eq!(Word::from_u128(unsigned).0.to_vec(), unsigned.abi_encode());
        prop_assert_eq!(Word::from_i128(signed).0.to_vec(), signed.abi_encode());
        prop_assert_eq!(Word::from_address(Address(address)).0.to_vec(), AlloyAddress::from(address).abi_encode());
        prop_assert_eq!(Word::from_bool(flag).0.to_vec(), flag.abi_encode());
        prop_assert_eq!(Word::from_fixed(fixed).0.to_vec(), FixedBytes::<4>::abi_encode(&fixed));
    }

    #[test]
    fn dynamic_values_that_alloy_wrote_are_read(
        text in "\\PC{0,40}",
        numbers in proptest::collection::vec(any::<u128>(), 0..9),
        amounts in proptest::collection::vec((any::<[u8; 20]>(), any::<[u8; 32]>()), 0..9),
        results in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..70)), 0..9),
    ) {
        let encoded = SolString::abi_encode(&text);
        prop_assert_eq!(Data::new(&encoded).string(0, 200), Ok(text.as_str()));
        let encoded = Array::<Uint<128>>::abi_encode(&numbers);
        let read = Data::new(&encoded).words(0, MAX).unwrap();
        prop_assert_eq!(read.iter().map(|word| word.to_u128().unwrap()).collect::<Vec<_>>(), numbers);
        let encoded = Amounts::abi_encode(
            &amounts.iter().map(|(to, amount)| (AlloyAddress::from(*to), U256::from_be_bytes(*amount))).collect::<Vec<_>>(),
        );
        let expected: Vec<_> = amounts.into_iter().map(|(to, amount)| (Address(to), Word(amount))).collect();
        prop_assert_eq!(Data::new(&encoded).amounts(0, MAX), Ok(expected));
        let encoded = Results::abi_encode(&results);
        let read: Vec<_> = Data::new(&encoded).dynamic_tuples(0, MAX).unwrap();
        let read: Vec<_> = read.iter().map(|it| (it.word(0).unwrap().to_bool().unwrap(), it.bytes(1, MAX * 2).unwrap().to_vec())).collect();
        prop_assert_eq!(read, results);
    }

    #[test]
    fn dynamic_values_are_written_as_by_alloy(
        bytes in proptest::collection::vec(any::<u8>(), 0..70),
        words in proptest::collection::vec(any::<[u8; 32]>(), 0..9),
        results in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..70)), 0..9),
    ) {
        prop_assert_eq!(Call::tuple().bytes(&bytes).encode(), Bytes::abi_encode(&bytes));
        let ours: Vec<Word> = words.iter().copied().map(Word).collect();
        prop_assert_eq!(Call::tuple().words(&ours).encode(), Array::<FixedBytes<32>>::abi_encode(&words));
        let tuple = |(flag, data): &(bool, Vec<u8>)| Call::tuple().word(Word::from_bool(*flag)).bytes(data).encode();
        let ours = Call::tuple().dynamic_tuples(&results.iter().map(tuple).collect::<Vec<_>>()).encode();
        prop_assert_eq!(ours, Results::abi_encode(&results));
    }

    /// Whatever both accept, they read alike; and whatever alloy accepts within our bounds, we accept.
    #[test]
    fn damaged_data_is_never_read_differently_from_alloy(
        amounts in proptest::collection::vec((any::<[u8; 20]>(), any::<u64>()), 0..5),
        at in any::<prop::sample::Index>(),
        byte: u8,
        cut in 0..64_usize,
    ) {
        let list: Vec<_> = amounts.iter().map(|(to, amount)| (AlloyAddress::from(*to), U256::from(*amount))).collect();
        let mut data = Amounts::abi_encode(&list);
        let index = at.index(data.len());
        data[index] = byte;
        data.truncate(data.len() - cut.min(data.len()));
        let ours = Data::new(&data).amounts(0, MAX);
        let alloys = Amounts::abi_decode(&data).map(|list| {
            list.into_iter().map(|(to, amount)| (Address(to.0.0), Word(amount.to_be_bytes()))).collect::<Vec<_>>()
        });
        match (ours, alloys) {
            (Ok(ours), Ok(alloys)) => prop_assert_eq!(ours, alloys),
            // Alloy cuts the padding of addresses off without looking at it.
            (Err(AbiError::Padding | AbiError::TooLong), Ok(_)) | (_, Err(_)) => {}
            (ours, alloys) => prop_assert!(false, "{:?} {:?}", ours, alloys),
        }
    }

    #[test]
    fn arbitrary_data_never_panics_and_lists_keep_their_bound(data: Vec<u8>, index in 0..4_usize, max in 0..8_usize) {
        let data = Data::new(&data);
        let _ = data.string(index, max);
        prop_assert!(data.bytes(index, max).map_or(0, <[u8]>::len) <= max);
        prop_assert!(data.words(index, max).map_or(0, |list| list.len()) <= max);
        prop_assert!(data.amounts(index, max).map_or(0, |list| list.len()) <= max);
        prop_assert!(data.dynamic_tuples(index, max).map_or(0, |list| list.len()) <= max);
    }
}

#[test]
fn topics_are_those_of_alloy() {
    alloy_sol_types::sol! {
        event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender);
        event MinDelayChange(uint256 oldDuration, uint256 newDuration);
        event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares);
        event ChangedThreshold(uint256 threshold);
        event CreateMetaMorpho(address indexed metaMorpho, address indexed caller, address initialOwner, uint256 initialTimelock, address indexed asset, string name, string symbol, bytes32 salt);
        event CreateVaultV2(address indexed owner, address indexed asset, bytes32 salt, address indexed newVaultV2);
        event ProxyCreated(address indexed proxy, bool upgradeable, address implementation, bytes trailingData);
        event NewVault(address indexed vault_address, address indexed asset);
    }
    use alloy_sol_types::SolEvent;
    assert_eq!(Event::RoleGranted.topic().0, RoleGranted::SIGNATURE_HASH.0);
    assert_eq!(Event::MinDelayChange.topic().0, MinDelayChange::SIGNATURE_HASH.0);
    assert_eq!(Event::Withdraw.topic().0, Withdraw::SIGNATURE_HASH.0);
    assert_eq!(Event::ChangedThreshold.topic().0, ChangedThreshold::SIGNATURE_HASH.0);
    assert_eq!(Creation::CreateMetaMorpho.topic().0, CreateMetaMorpho::SIGNATURE_HASH.0);
    assert_eq!(Creation::CreateVaultV2.topic().0, CreateVaultV2::SIGNATURE_HASH.0);
    assert_eq!(Creation::ProxyCreated.topic().0, ProxyCreated::SIGNATURE_HASH.0);
    assert_eq!(Creation::NewVault.topic().0, NewVault::SIGNATURE_HASH.0);
}

#[test]
fn selectors_are_those_of_alloy() {
    alloy_sol_types::sol! {
        function asset();
        function maxRedeem(address);
        function arbBlockHash(uint256);
        function supportsInterface(bytes4);
    }
    use alloy_sol_types::SolCall;
    assert_eq!(Function::Asset.selector(), assetCall::SELECTOR);
    assert_eq!(Function::MaxRedeem.selector(), maxRedeemCall::SELECTOR);
    assert_eq!(Function::ArbBlockHash.selector(), arbBlockHashCall::SELECTOR);
    assert_eq!(Function::SupportsInterface.selector(), supportsInterfaceCall::SELECTOR);
}
