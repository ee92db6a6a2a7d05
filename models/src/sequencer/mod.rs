//! The journal's numbers: writers that commit late or not at all, two processes that number and read, streams, crashes and restores.
//!
//! Real: how a reader judges the numbers that it reads ([`rds_shared::push::numbering`]), where a stream starts ([`Window::start`]) and which number
//! follows a restore ([`rds_shared::push::timeline`]). Modelled after the statements of `origin/store/src/push/journal`: the two kinds of ticks with
//! their snapshots and the lock of one row, the step, the ring of each process and its tailer. The statements themselves are tested against Postgres in
//! `origin/tests/it/push`.

mod database;
mod world;

use database::Status;
use rds_shared::push::Cursor;
use rds_shared::push::cursor::{Resume, Window};
use stateright::{Model, Property};

pub use database::Database;
pub use world::World;

/// Processes of the origin.
pub const PROCESSES: usize = 2;

/// Bounds of the exploration.
#[derive(Debug, Clone, Copy)]
pub struct Sequencer {
    /// Transactions that append an operation.
    pub writers: usize,
    pub crashes: u8,
    pub restores: u8,
    /// Reads of the stream's client.
    pub reads: u8,
}

/// What may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Begin,
    Commit(usize),
    Abort(usize),
    /// A process checks a new connection and steps if the database is not the one that issued the head.
    Check(usize),
    /// A tick of few: its statement takes its snapshot.
    Snap(usize),
    /// The statement locks the row and compares its version.
    Lock(usize),
    /// A tick of many locks the row first.
    LockFirst(usize),
    /// The tick commits.
    Number(usize),
    /// A tailer reads the head.
    ReadHead(usize),
    /// The tailer reads the operations after its ring's tail.
    ReadOn(usize),
    /// The client reads on at a process.
    Stream(usize),
    Crash(usize),
    Backup,
    Restore,
}

impl Model for Sequencer {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new()]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let database = &world.database;
        if world.writers < self.writers {
            actions.push(Action::Begin);
        }
        for (xid, (_, status)) in database.transactions.iter().enumerate() {
            if *status == Status::Active {
                actions.extend([Action::Commit(xid), Action::Abort(xid)]);
            }
        }
        for process in 0..PROCESSES {
            actions.extend(world.moves_of(process));
            if world.crashes < self.crashes {
                actions.push(Action::Crash(process));
            }
            if world.reads < self.reads && world.processes[process].is_checked {
                actions.push(Action::Stream(process));
            }
        }
        if self.restores > 0 && world.backup.is_none() {
            actions.push(Action::Backup);
        }
        if world.database.timeline < self.restores && world.backup.is_some() {
            actions.push(Action::Restore);
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        let mut next = world.clone();
        next.make(action);
        (next != *world).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("sequence numbers are dense, and no operation has two", |_, world: &World| {
                world.database.is_dense()
            }),
            Property::always(
                "operations are numbered in order of visibility, and none is left out",
                |_, world: &World| !world.database.is_here || world.database.is_complete(),
            ),
            Property::always("no number is given twice, also after a restore", |_, world: &World| {
                !world.has_given_twice
            }),
            Property::always("a stream gets every operation, or is told of a gap", |_, world: &World| {
                !world.has_missed
            }),
            Property::always("no gap is unexplained", |_, world: &World| !world.has_unexplained_gap),
            Property::always("a cursor of a lost timeline is recognised", |_, world: &World| is_recognised(world)),
            Property::sometimes("a writer commits late", |_, world: &World| {
                world.database.journal.windows(2).any(|pair| pair[0].1 > pair[1].1)
            }),
            Property::sometimes("two processes tick at once", |_, world: &World| world.was_taken),
            Property::sometimes("a stream is told of a gap", |_, world: &World| world.was_told),
            Property::sometimes("a tailer passes over a jump", |_, world: &World| world.has_passed),
        ]
    }
}

/// Whether the client's cursor resumes exactly if the current timeline issued it.
fn is_recognised(world: &World) -> bool {
    let database = &world.database;
    if !database.is_here {
        return true;
    }
    let place = world.client;
    let (floor, tail) = (Cursor::new(1), Cursor::new(database.state.head));
    let start = Window { floor, tail, jumps: &database.jumps }.start(Resume::After(Cursor::new(place)));
    start.gap.is_none() == world.is_issued(place)
}
