//! Who can change a contract, and after which delay.
//!
//! A [`Walk`] starts at a contract and asks who controls it: the administrator of its proxy or beacon, its owner, the holders of its
//! roles. It then asks the same about each controller, until every way ends at an account with a key, at a Safe, or at a contract that is
//! not understood. The caller answers the questions; the walk neither waits nor sends. The result is a [`Graph`].
//!
//! The *weakest* way counts: the one with the smallest delay, and among these the one with the fewest signers. A way that is not understood
//! may be weaker than all others, so it makes the result unknown unless another way is as weak as can be.
//!
//! | file | content |
//! |---|---|
//! | `question.rs` | questions, answers, and what is used of a contract's code |
//! | `access.rs` | proxies, owners and roles of a contract |
//! | `inspect.rs` | what kind of controller an address is |
//! | `weakest.rs` | the weakest way through the graph |
//!
//! Limits of what is shown: a Safe, a timelock or an administrator of proxies is recognised by its functions, which a hostile contract can
//! imitate; [`Options::known_controllers`] closes this. Powers that no function of `access.rs` shows are not seen.

mod access;
mod inspect;
mod question;
mod weakest;

pub use question::{Answer, Code, Question};
pub use weakest::{Controlled, Delay, Signers, Step};

use crate::abi::{Function, Word};
use crate::block::Address;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use question::Book;

/// Maximum number of controllers in a graph.
pub const MAX_NODES: usize = 64;
/// Maximum number of controllers on a way, counted from the contract.
pub const MAX_DEPTH: u8 = 8;
/// Maximum number of holders of one role, of a Safe's owners, and of a Safe's modules.
pub const MAX_MEMBERS: usize = 32;
/// Maximum number of questions of one walk.
pub const MAX_QUESTIONS: usize = 4_096;

/// Code that was reviewed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Hashes of the code of Safe modules that cannot act without the Safe's owners.
    pub known_modules: BTreeSet<[u8; 32]>,
    /// Hashes of the code of Safes (the proxy's code and the code that it runs), timelocks, administrators of proxies, and beacons. If given,
    /// a controller with other code is unknown. If `None`, controllers are recognised by their functions alone.
    pub known_controllers: Option<BTreeSet<[u8; 32]>>,
    /// Functions of the contract of the walk that name further owners, besides those under common names.
    pub more_owners: Vec<Function>,
    /// Seconds that the contract of the walk itself makes its owners wait.
    pub own_delay: u64,
}

/// How a controller was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// The administrator of a proxy, from its storage.
    ProxyAdmin,
    /// The beacon that names a proxy's implementation.
    Beacon,
    /// The owner, under one of several names, or the one that may become it at any time.
    Owner,
    /// A holder of this role.
    Role(Word),
}

/// As what an address is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Part {
    Target,
    AdminOf(Address),
    Beacon,
    Controller,
}

/// What an address is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The contract of the walk.
    Target {
        /// Whether its code can be replaced: it is a proxy with an administrator, a beacon or a variable implementation.
        is_upgradeable: bool,
    },
    /// OpenZeppelin's administrator of proxies, or a beacon: it acts at once when its owner says so.
    Administrator,
    /// An account with a key.
    Account,
    /// A Safe: `threshold` of the owners sign.
    Safe {
        /// How many owners must sign.
        threshold: u32,
        /// The owners.
        owners: Vec<Address>,
        /// The Safe's version, made safe to show; at most 32 bytes.
        version: String,
        /// A contract that can refuse the Safe's transactions.
        guard: Option<Address>,
    },
    /// OpenZeppelin's or Compound's timelock.
    Timelock {
        /// Seconds from the announcement of a change until it can be made.
        delay: u64,
    },
    /// Not understood.
    Other,
}

/// Why something about a controller is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Doubt {
    /// The providers gave no answer.
    Unread,
    /// An answer contradicts another one, or is not a value of its type.
    Implausible,
    /// A contract of a kind that the walk does not know.
    OtherContract,
    /// A proxy whose administrator is not shown.
    UpgradeAuthority,
    /// The contract has no owner, but may run foreign code as its own.
    ForeignCode,
    /// The controller's code is not among the known ones.
    UnknownCode,
    /// The Safe has a module whose code is not known. A module acts without the owners.
    UnknownModule,
    /// A list, a way or the graph is longer than the walk's bounds.
    TooLarge,
    /// The contract of the walk has no code.
    NoCode,
    /// Every way ends at a controller that nobody controls.
    DeadEnd,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::Unread => "not read",
            Doubt::Implausible => "implausible answers",
            Doubt::OtherContract => "a contract of unknown kind",
            Doubt::UpgradeAuthority => "a proxy whose administrator is not shown",
            Doubt::ForeignCode => "no owner, but may run foreign code",
            Doubt::UnknownCode => "a controller of unknown code",
            Doubt::UnknownModule => "a Safe with a module of unknown code",
            Doubt::TooLarge => "too many controllers",
            Doubt::NoCode => "no code",
            Doubt::DeadEnd => "controllers that nobody controls",
        })
    }
}

/// A controller that acts on a node, and the seconds that pass before it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// How it was found.
    pub link: Link,
    /// Position of the controller in [`Graph::nodes`]; `None` if the graph is full.
    pub to: Option<usize>,
    /// Seconds that this node makes the controller wait.
    pub delay: u64,
}

/// An address of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The address.
    pub address: Address,
    /// What it is.
    pub kind: Kind,
    /// Who controls it.
    pub edges: Vec<Edge>,
    /// What is not known about its control, with the delay that is sure nevertheless.
    pub doubts: Vec<(Doubt, u64)>,
}

/// A contract and its controllers. The contract is the first node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Each address once for each part it plays.
    pub nodes: Vec<Node>,
}

impl Graph {
    /// Whether the contract's code can be replaced; `None` if its storage was not read.
    pub fn is_upgradeable(&self) -> Option<bool> {
        let target = self.nodes.first()?;
        match target.kind {
            Kind::Target { is_upgradeable }
                if is_upgradeable || target.doubts.iter().all(|(it, _)| *it != Doubt::Unread) =>
            {
                Some(is_upgradeable)
            }
            _ => None,
        }
    }
}

/// An answer to a question that is not open, or of the wrong kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAsked;

/// The state of finding the controllers of one contract at one block.
#[derive(Debug, Clone)]
pub struct Walk {
    target: Address,
    options: Options,
    answers: BTreeMap<Question, Answer>,
    open: BTreeSet<Question>,
    graph: Graph,
}

impl Walk {
    /// A walk that starts at `target`.
    pub fn new(target: Address, options: Options) -> Self {
        let (answers, graph) = (BTreeMap::new(), Graph { nodes: Vec::new() });
        let mut walk = Self { target, options, answers, open: BTreeSet::new(), graph };
        walk.advance();
        walk
    }

    /// The open questions. They can be asked at once and recorded in any order.
    pub fn next(&self) -> impl Iterator<Item = &Question> {
        self.open.iter()
    }

    /// Records the answer to an open question.
    pub fn record(&mut self, question: &Question, answer: Answer) -> Result<(), NotAsked> {
        let fits = matches!(
            (question, &answer),
            (Question::Code(_), Answer::Code(_))
                | (Question::Storage { .. }, Answer::Storage(_))
                | (Question::Call { .. } | Question::Simulation(_), Answer::Call(_))
                | (Question::RoleGrants(_), Answer::RoleGrants(_))
                | (_, Answer::Failed(_))
        );
        if !fits || !self.open.remove(question) {
            return Err(NotAsked);
        }
        self.answers.insert(question.clone(), answer);
        if self.open.is_empty() {
            self.advance();
        }
        Ok(())
    }

    /// The graph, when every question is answered.
    pub fn finished(&self) -> Option<&Graph> {
        self.open.is_empty().then_some(&self.graph)
    }

    /// Builds the graph from the answers so far. What it asks in addition becomes the open questions.
    fn advance(&mut self) {
        let book = Book::new(&self.answers);
        self.graph = build(&book, self.target, &self.options);
        let missing = book.missing();
        if self.answers.len().saturating_add(missing.len()) > MAX_QUESTIONS {
            // What was not asked is not known. The graph says so, because a missing answer is a doubt.
            return;
        }
        self.open = missing;
    }
}

/// The nodes in the order of their distance from the target.
fn build(book: &Book<'_>, target: Address, options: &Options) -> Graph {
    let mut graph = Graph { nodes: Vec::new() };
    let mut positions: BTreeMap<(Address, Part), usize> = [((target, Part::Target), 0)].into();
    let mut queue: VecDeque<(Address, Part, u8)> = [(target, Part::Target, 0)].into();
    while let Some((address, part, depth)) = queue.pop_front() {
        let found = inspect::inspect(book, address, part, options);
        let mut node = Node { address, kind: found.kind, edges: Vec::new(), doubts: found.doubts };
        for way in found.ways {
            let known = positions.get(&(way.to, way.part)).copied();
            let new = || {
                let position = positions.len();
                let has_room = position < MAX_NODES && depth < MAX_DEPTH;
                has_room.then(|| {
                    positions.insert((way.to, way.part), position);
                    queue.push_back((way.to, way.part, depth.saturating_add(1)));
                    position
                })
            };
            node.edges.push(Edge { link: way.link, to: known.or_else(new), delay: way.delay });
        }
        graph.nodes.push(node);
    }
    graph
}

#[cfg(test)]
mod tests;
