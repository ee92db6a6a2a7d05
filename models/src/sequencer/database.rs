//! Postgres as the journal uses it: transactions with ids, snapshots, one locked row, and a restore.

use rds_shared::push::Cursor;
use rds_shared::push::cursor::Jump;
use rds_shared::push::numbering;
use rds_shared::push::timeline::{OPERATIONS, StepEntropy};

/// An operation, named by the timeline and the transaction that appended it.
pub type Op = (u8, u8);

/// The state of a transaction. Its id is its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    Active,
    Committed,
    Aborted,
}

/// A snapshot: it sees what was committed below `xmax`, except the transactions that were in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Snapshot {
    xmax: u8,
    in_progress: u16,
}

impl Snapshot {
    fn sees(self, xid: u8) -> bool {
        xid < self.xmax && self.in_progress & (1 << xid) == 0
    }
}

/// `journal_state`. `version` is the row's version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct State {
    pub head: u64,
    pub snap: Snapshot,
    pub version: u8,
}

/// What is on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Database {
    /// Number of restores so far, which are told apart by nothing else.
    pub timeline: u8,
    pub transactions: Vec<(Op, Status)>,
    pub journal: Vec<(u64, Op)>,
    pub state: State,
    pub jumps: Vec<Jump>,
    /// Whether this cluster issued the head.
    pub is_here: bool,
}

impl Database {
    pub fn begin(&mut self) {
        let xid = u8::try_from(self.transactions.len()).unwrap_or(u8::MAX);
        self.transactions.push(((self.timeline, xid), Status::Active));
    }

    pub fn snapshot(&self) -> Snapshot {
        let active = self.transactions.iter().enumerate().filter(|(_, (_, status))| *status == Status::Active);
        let in_progress = active.fold(0, |bits, (xid, _)| bits | 1 << xid);
        Snapshot { xmax: u8::try_from(self.transactions.len()).unwrap_or(u8::MAX), in_progress }
    }

    /// The operations that `now` sees and `then` did not, in the order of their ids: what the statements of a tick find by two index look-ups.
    pub fn fresh(&self, then: Snapshot, now: Snapshot) -> Vec<Op> {
        let all = self.transactions.iter().zip(0_u8..);
        let visible = all.filter(|((_, status), xid)| *status == Status::Committed && now.sees(*xid));
        // In progress at the stored snapshot, or begun after it.
        let new = visible.filter(|(_, xid)| *xid >= then.xmax || then.in_progress & (1 << xid) != 0);
        new.map(|((op, _), _)| *op).collect()
    }

    /// Commits a tick.
    pub fn number(&mut self, ops: &[Op], now: Snapshot) -> Vec<(u64, Op)> {
        let numbered: Vec<(u64, Op)> = (self.state.head + 1..).zip(ops.iter().copied()).collect();
        self.journal.extend(&numbered);
        self.state.head += numbered.len() as u64;
        (self.state.snap, self.state.version) = (now, self.state.version + 1);
        numbered
    }

    /// Steps above every number that may have been issued, `seen` among them, and numbers what has no number.
    pub fn step(&mut self, seen: u64) -> Option<u64> {
        let (from, above) = (self.state.head, self.state.head.max(seen));
        let entropy = StepEntropy { seconds: 1_795_219_200 + i64::from(self.timeline), random: 1 };
        let to = OPERATIONS.new_head(above, entropy)?;
        self.jumps.push(Jump { from: Cursor::new(from), to: Cursor::new(to) });
        self.state.head = to;
        let now = self.snapshot();
        let ops = self.fresh(self.state.snap, now);
        self.number(&ops, now);
        self.is_here = true;
        Some(to)
    }

    /// The backup as a new cluster: what was in progress is gone, and its transaction ids are given again.
    pub fn restored(&self, timeline: u8) -> Self {
        let mut restored = Database { timeline, is_here: false, ..self.clone() };
        for (_, status) in &mut restored.transactions {
            if *status == Status::Active {
                *status = Status::Aborted;
            }
        }
        restored
    }

    /// The numbers after `place`, in order.
    pub fn after(&self, place: u64) -> Vec<(u64, Op)> {
        self.journal.iter().filter(|(number, _)| *number > place).copied().collect()
    }

    /// Whether all numbers follow each other except at recorded jumps, and no operation has two.
    pub fn is_dense(&self) -> bool {
        let is_once = |op: &Op| self.journal.iter().filter(|(_, other)| other == op).count() == 1;
        numbering::is_dense(&self.jumps, 0, self.journal.iter().map(|(number, _)| *number))
            && self.journal.iter().all(|(_, op)| is_once(op))
    }

    /// Whether exactly the operations that the stored snapshot sees have a number.
    pub fn is_complete(&self) -> bool {
        self.transactions.iter().zip(0_u8..).all(|((op, status), xid)| {
            let is_numbered = self.journal.iter().any(|(_, other)| other == op);
            is_numbered == (*status == Status::Committed && self.state.snap.sees(xid))
        })
    }
}
