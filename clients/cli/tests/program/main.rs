//! The program as a user runs it, against the scripted server of the behaviour suite.

mod check;
mod keys;
mod read;
mod run;
// The scripted server, which the library's suite starts too.
#[path = "../../../rust/tests/behaviours/server.rs"]
mod server;
mod watch;
mod webhooks;
