//! What kind of controller an address is.

use super::access::{self, DEFAULT_ADMIN, role};
use super::question::{Book, Code};
use super::{Doubt, Kind, Link, MAX_MEMBERS, Options, Part};
use crate::abi::{Data, Function, Word, keccak256};
use crate::adapt::token::safe_text;
use crate::adapt::{Unknown, Value};
use crate::block::Address;
use alloc::vec::Vec;

/// The start, and the end, of a Safe's list of modules.
const SENTINEL: Address = Address([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

/// A controller that was found.
#[derive(Debug)]
pub(super) struct Way {
    pub link: Link,
    pub to: Address,
    pub part: Part,
    pub delay: u64,
}

/// What was found out about an address.
#[derive(Debug)]
pub(super) struct Found {
    pub kind: Kind,
    pub ways: Vec<Way>,
    pub doubts: Vec<(Doubt, u64)>,
}

impl Found {
    fn new(kind: Kind) -> Self {
        Self { kind, ways: Vec::new(), doubts: Vec::new() }
    }

    fn other(doubt: Doubt) -> Self {
        Self { kind: Kind::Other, ways: Vec::new(), doubts: [(doubt, 0)].into() }
    }

    pub fn way(&mut self, link: Link, to: Address, part: Part, delay: u64) {
        self.ways.push(Way { link, to, part, delay });
    }

    pub fn doubt(&mut self, doubt: Doubt) {
        self.doubts.push((doubt, 0));
    }

    /// Adds a doubt if the code of a recognised controller is not among the known ones.
    fn require_known(&mut self, code: &Code, options: &Options) {
        let is_known = options.known_controllers.as_ref().is_none_or(|known| known.contains(&code.hash));
        if !is_known && self.kind != Kind::Other {
            self.doubt(Doubt::UnknownCode);
        }
    }

    /// Adds who can replace the controller's own code, which circumvents its delay and its signers.
    fn with_proxy(mut self, book: &Book<'_>, address: Address) -> Self {
        if access::proxy(book, address, &mut self) && self.ways.iter().all(|way| !way.link.is_upgrade()) {
            self.doubt(Doubt::UpgradeAuthority);
        }
        self
    }
}

impl Link {
    fn is_upgrade(self) -> bool {
        matches!(self, Link::ProxyAdmin | Link::Beacon)
    }
}

/// Looks at an address as the part that it plays.
pub(super) fn inspect(book: &Book<'_>, address: Address, part: Part, options: &Options) -> Found {
    let code = match book.code(address) {
        Ok(code) => code,
        Err(unknown) => return Found::other(Doubt::of(unknown)),
    };
    let mut found = match part {
        Part::Target if code.is_account() => return Found::other(Doubt::NoCode),
        Part::Target => {
            let mut found = Found::new(Kind::Target { is_upgradeable: false });
            let is_upgradeable = access::target(book, address, code, options, &mut found);
            return Found { kind: Kind::Target { is_upgradeable }, ..found };
        }
        Part::Beacon if code.is_account() => return Found::other(Doubt::OtherContract),
        Part::AdminOf(_) | Part::Controller if code.is_account() => return Found::new(Kind::Account),
        Part::Beacon => administrator(book, address, is_beacon(book, address)),
        Part::AdminOf(proxy) => match is_proxy_admin(book, address, proxy) {
            Ok(false) => controller(book, address, options),
            is_proxy_admin => administrator(book, address, is_proxy_admin),
        },
        Part::Controller => controller(book, address, options),
    };
    found.require_known(&code, options);
    found
}

fn is_beacon(book: &Book<'_>, address: Address) -> Value<bool> {
    match book.word(address, Function::Implementation) {
        Ok(word) => Ok(word.to_address().is_ok()),
        Err(Unknown::Unread) => Err(Unknown::Unread),
        Err(_) => Ok(false),
    }
}

/// Whether the contract is OpenZeppelin's ProxyAdmin: since version 5 it names its version, before it could say a proxy's administrator.
fn is_proxy_admin(book: &Book<'_>, address: Address, proxy: Address) -> Value<bool> {
    let version = book.call(address, Function::UpgradeInterfaceVersion, &[]);
    let admin = book.call(address, Function::ProxyAdminOf, &[Word::from_address(proxy)]);
    let owner = book.word(address, Function::Owner);
    let is_unread = [version.map(|_| ()), admin.map(|_| ()), owner.map(|_| ())].contains(&Err(Unknown::Unread));
    if is_unread {
        return Err(Unknown::Unread);
    }
    let names_version = version.is_ok_and(|version| version.string(0, 16) == Ok("5.0.0"));
    let names_itself = admin.is_ok_and(|admin| admin.word(0).and_then(Word::to_address) == Ok(address));
    Ok(owner.is_ok() && (names_version || names_itself))
}

/// A contract that does what its owner says, at once. Its code must be its own.
fn administrator(book: &Book<'_>, address: Address, is_one: Value<bool>) -> Found {
    match is_one {
        Ok(true) => {}
        Ok(false) => return Found::other(Doubt::OtherContract),
        Err(unknown) => return Found::other(Doubt::of(unknown)),
    }
    let mut found = Found::new(Kind::Administrator);
    if !access::owners(book, address, 0, &[Function::Owner, Function::PendingOwner], &mut found) {
        found.doubt(Doubt::OtherContract);
    }
    found.with_proxy(book, address)
}

/// The functions by which a controller is recognised, asked in one round.
struct Answers<'a> {
    threshold: Value<Word>,
    owners: Value<Data<'a>>,
    version: Value<Data<'a>>,
    min_delay: Value<Word>,
    has_roles: Value<bool>,
    delay: Value<Word>,
    admin: Value<Word>,
}

fn controller(book: &Book<'_>, address: Address, options: &Options) -> Found {
    let answers = Answers {
        threshold: book.word(address, Function::Threshold),
        owners: book.call(address, Function::Owners, &[]),
        version: book.call(address, Function::Version, &[]),
        min_delay: book.word(address, Function::MinDelay),
        has_roles: access::has_roles(book, address),
        delay: book.word(address, Function::Delay),
        admin: book.word(address, Function::Admin),
    };
    let is_unread = [answers.threshold, answers.min_delay, answers.delay, answers.admin]
        .contains(&Err(Unknown::Unread))
        || [answers.owners.map(|_| ()), answers.version.map(|_| ()), answers.has_roles.map(|_| ())]
            .contains(&Err(Unknown::Unread));
    // A contract that answers as two kinds is neither.
    match (answers.threshold.is_ok() && answers.version.is_ok(), answers.min_delay, answers.delay) {
        _ if is_unread => Found::other(Doubt::Unread),
        (true, Err(_), Err(_)) => safe(book, address, &answers, options).with_proxy(book, address),
        (false, Ok(delay), Err(_)) if answers.has_roles == Ok(true) => timelock(book, address, delay),
        (false, Err(_), Ok(delay)) if answers.admin.is_ok() => compound_timelock(book, address, delay),
        _ => Found::other(Doubt::OtherContract),
    }
}

fn safe(book: &Book<'_>, address: Address, answers: &Answers<'_>, options: &Options) -> Found {
    let threshold = answers.threshold.and_then(|word| Ok(word.to_u64()?)).ok().and_then(|it| u32::try_from(it).ok());
    let owners = answers.owners.and_then(|data| Ok(data.addresses(0, MAX_MEMBERS)?));
    let version = answers.version.and_then(|data| Ok(safe_text(data.string(0, 32)?)));
    let (Some(threshold), Ok(owners), Ok(version)) = (threshold, owners, version) else {
        return Found::other(Doubt::Implausible);
    };
    let mut distinct = owners.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let is_plausible = usize::try_from(threshold).is_ok_and(|threshold| (1..=owners.len()).contains(&threshold));
    if !is_plausible || distinct.len() != owners.len() || distinct.first() == Some(&Address::ZERO) {
        return Found::other(Doubt::Implausible);
    }
    let guard = book.storage(address, Word(keccak256(b"guard_manager.guard.address")));
    let guard = guard.and_then(|word| Ok(Some(word.to_address()?).filter(|guard| *guard != Address::ZERO)));
    let mut found = Found::new(Kind::Safe { threshold, owners, version, guard: guard.unwrap_or(None) });
    found.doubts.extend(guard.err().map(|unknown| (Doubt::of(unknown), 0)));
    if let Err(doubt) = modules_are_known(book, address, options) {
        found.doubt(doubt);
    }
    if options.known_controllers.is_some() {
        // The code that the proxy runs: its address is the proxy's first variable.
        let singleton = book.storage(address, Word::ZERO).and_then(|word| Ok(word.to_address()?));
        match singleton.and_then(|singleton| book.code(singleton)) {
            Ok(code) => found.require_known(&code, options),
            Err(unknown) => found.doubt(Doubt::of(unknown)),
        }
    }
    found
}

/// A module acts in the Safe's name without the owners. Error: there is one whose code is not known, or the list was not read.
fn modules_are_known(book: &Book<'_>, safe: Address, options: &Options) -> Result<(), Doubt> {
    let max = u128::try_from(MAX_MEMBERS).unwrap_or(u128::MAX);
    let page = book.call(safe, Function::ModulesPaginated, &[Word::from_address(SENTINEL), Word::from_u128(max)]);
    let page = page.map_err(Doubt::of)?;
    let modules = page.addresses(0, MAX_MEMBERS).map_err(|_| Doubt::Implausible)?;
    let next = page.word(1).and_then(Word::to_address).map_err(|_| Doubt::Implausible)?;
    if next != SENTINEL && next != Address::ZERO {
        return Err(Doubt::TooLarge);
    }
    let codes: Vec<_> = modules.into_iter().map(|module| book.code(module)).collect();
    for code in codes {
        if !options.known_modules.contains(&code.map_err(Doubt::of)?.hash) {
            return Err(Doubt::UnknownModule);
        }
    }
    Ok(())
}

/// OpenZeppelin's TimelockController. Its administrators can make themselves proposers at once, so they count as such.
///
/// Executors only carry out what has waited, and cancellers only prevent it: neither changes anything alone.
fn timelock(book: &Book<'_>, address: Address, delay: Word) -> Found {
    // A delay beyond 64 bits lets nothing through before the end of time, but no timelock in use has one.
    let Ok(delay) = delay.to_u64() else { return Found::other(Doubt::Implausible) };
    let mut found = Found::new(Kind::Timelock { delay });
    // The last one is the administrators' role before version 4.9.
    let proposing = [role("PROPOSER_ROLE"), DEFAULT_ADMIN, role("TIMELOCK_ADMIN_ROLE")];
    access::roles(book, address, delay, &proposing, &mut found);
    found.with_proxy(book, address)
}

/// Compound's Timelock: its administrator announces and carries out. Whoever is to become administrator may do so at any time.
fn compound_timelock(book: &Book<'_>, address: Address, delay: Word) -> Found {
    let Ok(delay) = delay.to_u64() else { return Found::other(Doubt::Implausible) };
    let mut found = Found::new(Kind::Timelock { delay });
    access::owners(book, address, delay, &[Function::Admin, Function::PendingAdmin], &mut found);
    found.with_proxy(book, address)
}
