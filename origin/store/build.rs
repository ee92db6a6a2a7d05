//! The migrations are embedded in the program, so cargo rebuilds it when a migration changes.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
