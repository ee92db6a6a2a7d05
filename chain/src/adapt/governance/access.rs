//! Proxies, owners and roles of a contract.

use super::inspect::Found;
use super::question::{Book, Code};
use super::{Doubt, Link, MAX_MEMBERS, Options, Part};
use crate::abi::{Function, Word, keccak256};
use crate::adapt::{Unknown, Value};
use crate::block::Address;
use alloc::vec::Vec;

/// OpenZeppelin's `DEFAULT_ADMIN_ROLE`, which may give every other role to anybody.
pub const DEFAULT_ADMIN: Word = Word::ZERO;

/// Functions that name an owner, or an address that may become it without anybody's consent.
const OWNERS: [Function; 7] = [
    Function::Owner,
    Function::PendingOwner,
    Function::Admin,
    Function::PendingAdmin,
    Function::Governance,
    Function::Governor,
    Function::Authority,
];

/// An address that nobody has the key of, to which ownership is given up.
const BURNED: Address = Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xde, 0xad]);

/// The role with this name, as OpenZeppelin derives it.
pub fn role(name: &str) -> Word {
    Word(keccak256(name.as_bytes()))
}

/// A slot of ERC-1967: the hash of the name, less one.
fn erc1967(name: &str) -> Word {
    role(name).minus(Word::from_u128(1)).unwrap_or(Word::MAX)
}

impl Doubt {
    pub(super) fn of(unknown: Unknown) -> Self {
        match unknown {
            Unknown::Unread => Doubt::Unread,
            Unknown::NoAnswer | Unknown::Refused | Unknown::Implausible => Doubt::Implausible,
        }
    }
}

/// An address that can act; `None` for zero and for the burned one.
fn alive(address: Address) -> Option<Address> {
    (address != Address::ZERO && address != BURNED).then_some(address)
}

/// Adds who can replace the code. Whether there is a slot of a proxy at all.
///
/// Slots of ERC-1967, and of ZeppelinOS from before, which USDC still uses.
pub(super) fn proxy(book: &Book<'_>, contract: Address, found: &mut Found) -> bool {
    let slots = [
        (erc1967("eip1967.proxy.admin"), Some((Link::ProxyAdmin, Part::AdminOf(contract)))),
        (role("org.zeppelinos.proxy.admin"), Some((Link::ProxyAdmin, Part::AdminOf(contract)))),
        (erc1967("eip1967.proxy.beacon"), Some((Link::Beacon, Part::Beacon))),
        (erc1967("eip1967.proxy.implementation"), None),
        (role("org.zeppelinos.proxy.implementation"), None),
    ];
    let mut is_proxy = false;
    for (slot, controller) in slots {
        match book.storage(contract, slot).and_then(|word| Ok(word.to_address()?)) {
            Ok(Address::ZERO) => {}
            Ok(address) => {
                is_proxy = true;
                if let (Some((link, part)), Some(address)) = (controller, alive(address)) {
                    found.way(link, address, part, 0);
                }
            }
            Err(unknown) => found.doubt(Doubt::of(unknown)),
        }
    }
    is_proxy
}

/// Adds the owners. Whether the contract has a function that names one, also if it was given up.
pub(super) fn owners(book: &Book<'_>, contract: Address, delay: u64, names: &[Function], found: &mut Found) -> bool {
    let mut has_function = false;
    for function in names {
        match book.word(contract, *function).and_then(|word| Ok(word.to_address()?)) {
            Ok(owner) => {
                has_function = true;
                if let Some(owner) = alive(owner) {
                    found.way(Link::Owner, owner, Part::Controller, delay);
                }
            }
            Err(Unknown::NoAnswer) => {}
            Err(unknown) => found.doubts.push((Doubt::of(unknown), delay)),
        }
    }
    has_function
}

/// Whether the contract has OpenZeppelin's roles.
pub(super) fn has_roles(book: &Book<'_>, contract: Address) -> Value<bool> {
    match book.call(contract, Function::HasRole, &[DEFAULT_ADMIN, Word::ZERO]) {
        Ok(answer) => Ok(answer.word(0)?.to_bool().is_ok()),
        Err(Unknown::NoAnswer | Unknown::Refused) => Ok(false),
        Err(unknown) => Err(unknown),
    }
}

/// Adds the holders of the roles. A timelock that holds its own role is a cycle, which leads nowhere.
pub(super) fn roles(book: &Book<'_>, contract: Address, delay: u64, roles: &[Word], found: &mut Found) {
    for role in roles {
        match members(book, contract, *role) {
            Ok(members) => {
                for member in members.into_iter().filter_map(alive) {
                    found.way(Link::Role(*role), member, Part::Controller, delay);
                }
            }
            Err(doubt) => found.doubts.push((doubt, delay)),
        }
    }
}

/// The holders of a role: from the contract's list if it has one, else from its logs, each confirmed by `hasRole`.
fn members(book: &Book<'_>, contract: Address, role: Word) -> Result<Vec<Address>, Doubt> {
    match book.call(contract, Function::RoleMemberCount, &[role]) {
        Ok(count) => {
            let count = count.word(0).and_then(Word::to_u64).map_err(|_| Doubt::Implausible)?;
            if usize::try_from(count).map_or(true, |count| count > MAX_MEMBERS) {
                return Err(Doubt::TooLarge);
            }
            let member = |index: u64| {
                let answer = book.call(contract, Function::RoleMember, &[role, Word::from_u128(index.into())])?;
                Ok(answer.word(0)?.to_address()?)
            };
            // All are asked before the first failure counts, so that they are one round of questions.
            let members: Vec<Value<Address>> = (0..count).map(member).collect();
            members.into_iter().collect::<Value<Vec<Address>>>().map_err(Doubt::of)
        }
        Err(Unknown::NoAnswer | Unknown::Refused) => {
            let grants = book.grants(contract).map_err(Doubt::of)?;
            // A contract with roles but without a single grant in its logs: the logs are incomplete.
            if grants.is_empty() {
                return Err(Doubt::Implausible);
            }
            let mut accounts: Vec<Address> =
                grants.iter().filter(|(granted, _)| *granted == role).map(|(_, account)| *account).collect();
            accounts.sort_unstable();
            accounts.dedup();
            if accounts.len() > MAX_MEMBERS {
                return Err(Doubt::TooLarge);
            }
            let confirm = |account: Address| {
                let answer = book.call(contract, Function::HasRole, &[role, Word::from_address(account)])?;
                Ok(answer.word(0)?.to_bool()?.then_some(account))
            };
            let confirmed: Vec<Value<Option<Address>>> = accounts.into_iter().map(confirm).collect();
            let confirmed = confirmed.into_iter().collect::<Value<Vec<Option<Address>>>>().map_err(Doubt::of)?;
            Ok(confirmed.into_iter().flatten().collect())
        }
        Err(unknown) => Err(Doubt::of(unknown)),
    }
}

/// Adds the controllers of the contract that the walk is about. Whether its code can be replaced.
pub(super) fn target(book: &Book<'_>, contract: Address, code: Code, options: &Options, found: &mut Found) -> bool {
    let is_proxy = proxy(book, contract, found);
    owners(book, contract, options.own_delay, &OWNERS, found);
    owners(book, contract, options.own_delay, &options.more_owners, found);
    match has_roles(book, contract) {
        Ok(true) if is_proxy => roles(book, contract, 0, &[DEFAULT_ADMIN, role("UPGRADER_ROLE")], found),
        Ok(true) => roles(book, contract, 0, &[DEFAULT_ADMIN], found),
        Ok(false) => {}
        Err(unknown) => found.doubt(Doubt::of(unknown)),
    }
    // A minimal clone always runs the code of one other contract.
    let code = match code.clone_of {
        Some(implementation) => book.code(implementation),
        None => Ok(code),
    };
    if found.ways.is_empty() {
        match code {
            _ if is_proxy => found.doubt(Doubt::UpgradeAuthority),
            Ok(code) if code.may_run_foreign_code => found.doubt(Doubt::ForeignCode),
            Ok(_) => {}
            Err(unknown) => found.doubt(Doubt::of(unknown)),
        }
    }
    is_proxy
}
