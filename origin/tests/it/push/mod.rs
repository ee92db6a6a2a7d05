//! The journal and the event stream.

pub mod journal_numbers;
pub mod journal_pasts;
pub mod journal_restores;
pub mod journal_retention;
pub mod lag;
pub mod stream_admission;
pub mod stream_bounds;
pub mod stream_cursors;
pub mod stream_delivery;
pub mod stream_faults;
pub mod stream_live;
