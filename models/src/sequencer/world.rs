//! The state of the model: the database, the origin's processes with their rings, and a client of the stream.

use super::database::{Database, Op, Snapshot, State, Status};
use super::{Action, PROCESSES};
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{Jump, is_of_current_timeline};
use rds_shared::push::numbering::{self, successor};
use std::collections::BTreeMap;

/// How far a tick has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tick {
    Idle,
    /// The snapshot of a statement, and the row that it sees.
    Snapped(Snapshot, State),
    /// The row is locked; the snapshot is taken by a later statement if it is `None`.
    Locked(Option<Snapshot>),
}

/// A process of the origin.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    pub tick: Tick,
    /// Whether its connection is to the current database, and was checked.
    pub is_checked: bool,
    /// The ring contains everything after this position.
    floor: u64,
    tail: u64,
    ring: Vec<(u64, Op)>,
    /// The ring's tail and the head that the tailer has read.
    reading: Option<(u64, u64)>,
}

/// The world. Its last fields remember what happened, for the invariants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub database: Database,
    pub backup: Option<Box<Database>>,
    /// The process that has locked the row.
    lock: Option<usize>,
    pub processes: [Process; PROCESSES],
    /// The position of the stream's client.
    pub client: u64,
    pub writers: usize,
    pub crashes: u8,
    pub reads: u8,
    /// Every number that was ever given, also in lost timelines.
    given: BTreeMap<u64, Op>,
    pub has_given_twice: bool,
    pub has_missed: bool,
    pub has_unexplained_gap: bool,
    pub was_taken: bool,
    pub was_told: bool,
    pub has_passed: bool,
}

impl World {
    pub fn new() -> Self {
        let process =
            || Process { tick: Tick::Idle, is_checked: false, floor: 0, tail: 0, ring: Vec::new(), reading: None };
        World {
            database: Database { is_here: true, ..Database::default() },
            backup: None,
            lock: None,
            processes: [process(), process()],
            client: 0,
            writers: 0,
            crashes: 0,
            reads: 0,
            given: BTreeMap::new(),
            has_given_twice: false,
            has_missed: false,
            has_unexplained_gap: false,
            was_taken: false,
            was_told: false,
            has_passed: false,
        }
    }

    /// What a process may do.
    pub fn moves_of(&self, number: usize) -> Vec<Action> {
        let process = &self.processes[number];
        if !process.is_checked {
            return vec![Action::Check(number)];
        }
        let mut moves = match process.tick {
            Tick::Idle if self.has_fresh() => vec![Action::Snap(number), Action::LockFirst(number)],
            Tick::Idle => Vec::new(),
            Tick::Snapped(..) => vec![Action::Lock(number)],
            Tick::Locked(_) => vec![Action::Number(number)],
        };
        match process.reading {
            None if self.database.state.head != process.tail => moves.push(Action::ReadHead(number)),
            None => {}
            Some(_) => moves.push(Action::ReadOn(number)),
        }
        moves
    }

    fn has_fresh(&self) -> bool {
        !self.database.fresh(self.database.state.snap, self.database.snapshot()).is_empty()
    }

    pub fn make(&mut self, action: Action) {
        match action {
            Action::Begin => {
                self.writers += 1;
                self.database.begin();
            }
            Action::Commit(xid) => self.database.transactions[xid].1 = Status::Committed,
            Action::Abort(xid) => self.database.transactions[xid].1 = Status::Aborted,
            Action::Check(process) => self.check(process),
            Action::Snap(process) => {
                self.processes[process].tick = Tick::Snapped(self.database.snapshot(), self.database.state);
            }
            Action::Lock(process) => self.lock(process),
            Action::LockFirst(process) => match self.lock {
                None => (self.lock, self.processes[process].tick) = (Some(process), Tick::Locked(None)),
                Some(_) => self.was_taken = true,
            },
            Action::Number(process) => self.number(process),
            Action::ReadHead(process) => {
                let process = &mut self.processes[process];
                process.reading = Some((process.tail, self.database.state.head));
            }
            Action::ReadOn(process) => self.read_on(process),
            Action::Stream(process) => self.stream(process),
            Action::Crash(process) => {
                self.crashes += 1;
                self.disconnect(process);
                let head = self.database.state.head;
                let process = &mut self.processes[process];
                (process.floor, process.tail, process.ring) = (head, head, Vec::new());
            }
            Action::Backup => self.backup = Some(Box::new(self.database.clone())),
            Action::Restore => {
                let Some(backup) = &self.backup else { return };
                self.database = backup.restored(self.database.timeline + 1);
                (0..PROCESSES).for_each(|process| self.disconnect(process));
            }
        }
    }

    /// A connection ends, and with it its transaction.
    fn disconnect(&mut self, number: usize) {
        let process = &mut self.processes[number];
        (process.tick, process.is_checked, process.reading) = (Tick::Idle, false, None);
        if self.lock == Some(number) {
            self.lock = None;
        }
    }

    fn check(&mut self, number: usize) {
        let seen = self.processes[number].tail;
        // A step waits for the lock.
        if self.lock.is_some() {
            return;
        }
        self.processes[number].is_checked = true;
        if !self.database.is_here || self.database.state.head < seen {
            let Some(to) = self.database.step(seen) else { return };
            self.note_numbers();
            self.processes[number].restart(to);
        }
    }

    fn lock(&mut self, number: usize) {
        let process = &mut self.processes[number];
        let Tick::Snapped(now, seen) = process.tick else { return };
        let is_ours = self.lock.is_none() && seen.version == self.database.state.version;
        self.was_taken |= !is_ours;
        process.tick = if is_ours { Tick::Locked(Some(now)) } else { Tick::Idle };
        if is_ours {
            self.lock = Some(number);
        }
    }

    fn number(&mut self, number: usize) {
        let Tick::Locked(snapshot) = self.processes[number].tick else { return };
        let now = snapshot.unwrap_or_else(|| self.database.snapshot());
        let ops = self.database.fresh(self.database.state.snap, now);
        (self.lock, self.processes[number].tick) = (None, Tick::Idle);
        if ops.is_empty() {
            return;
        }
        let numbered = self.database.number(&ops, now);
        self.note_numbers();
        let process = &mut self.processes[number];
        // A tick of many returns no content. As in `Journal::feed`.
        if snapshot.is_some() && numbered.first().is_some_and(|(first, _)| *first == process.tail + 1) {
            process.append(&numbered);
        }
    }

    fn note_numbers(&mut self) {
        for (number, op) in &self.database.journal {
            let known = *self.given.entry(*number).or_insert(*op);
            self.has_given_twice |= known != *op;
        }
    }

    /// As `read_on` in the origin's tailer.
    fn read_on(&mut self, number: usize) {
        let process = &mut self.processes[number];
        let Some((tail, head)) = process.reading.take() else { return };
        if process.tail != tail {
            return;
        }
        if head < tail {
            process.restart(tail);
            return;
        }
        let entries = self.database.after(tail);
        let numbers: Vec<u64> = entries.iter().map(|(number, _)| *number).collect();
        if !numbers.is_empty() && numbering::is_dense(&[], tail, numbers.iter().copied()) {
            process.append(&entries);
            return;
        }
        let gap = numbering::gap(&self.database.jumps, tail, head, &numbers);
        self.has_unexplained_gap |= !gap.is_recorded;
        self.has_passed = true;
        process.restart(gap.place);
    }

    /// Whether the current timeline has issued the position: an operation's number, or an end of a jump.
    pub fn is_issued(&self, place: u64) -> bool {
        let is_end = |jump: &Jump| jump.to.get() == place || jump.from.get() == place;
        place == 0
            || self.database.journal.iter().any(|(number, _)| *number == place)
            || self.database.jumps.iter().any(is_end)
    }

    /// The client reads on: from the ring, or a page of the journal.
    fn stream(&mut self, number: usize) {
        self.reads += 1;
        let process = &self.processes[number];
        let (place, database) = (self.client, &self.database);
        if place >= process.floor {
            let frames: Vec<(u64, Op)> = process.ring.iter().filter(|(number, _)| *number > place).copied().collect();
            let upto = frames.last().map_or(place, |(number, _)| *number);
            let expected: Vec<(u64, Op)> =
                database.after(place).into_iter().filter(|(number, _)| *number <= upto).collect();
            // A ring from before a restore is passed over at the tailer's next turn; its frames were public before.
            let (head, tail) = (Cursor::new(database.state.head), Cursor::new(process.tail));
            self.has_missed |= frames != expected && is_of_current_timeline(&database.jumps, head, tail);
            self.client = upto;
            return;
        }
        let entries = database.after(place);
        let mut numbers = entries.iter().map(|(number, _)| *number);
        if !numbering::is_dense(&database.jumps, place, numbers.clone()) {
            // The stream ends; the client learns of a gap when it connects again, and starts from the beginning.
            self.was_told = true;
            self.client = 0;
            return;
        }
        let last = numbers.next_back().unwrap_or_else(|| {
            let landing = successor(&database.jumps, place) - 1;
            if database.state.head > place { landing.max(place) } else { place }
        });
        self.has_missed |= database.state.head > place && last == place || !self.is_issued(place);
        self.client = last;
    }
}

impl Process {
    fn append(&mut self, entries: &[(u64, Op)]) {
        for entry in entries.iter().filter(|(number, _)| *number > self.tail).copied().collect::<Vec<_>>() {
            self.tail = entry.0;
            self.ring.push(entry);
        }
    }

    fn restart(&mut self, place: u64) {
        (self.floor, self.tail, self.ring) = (place, place, Vec::new());
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new()
    }
}
