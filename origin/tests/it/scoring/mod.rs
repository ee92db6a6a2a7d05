//! Scores, their recomputation and runs that are held back.

pub mod answers;
pub mod evidence_status;
pub mod held_back;
pub mod methodology;
