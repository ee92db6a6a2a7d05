//! Prints the deposit gate's program as hexadecimal, for `fixtures/gate.hex`.

fn main() {
    println!("{}", rds_chain::hex::encode(&rds_chain::adapt::deposit_gate::PROGRAM));
}
