//! The migrations are embedded: a changed one makes a new program.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
