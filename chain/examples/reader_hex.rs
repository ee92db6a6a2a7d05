//! Prints the reader program as hexadecimal, for `fixtures/reader.hex`.

fn main() {
    let digits: String = rds_chain::reader::PROGRAM.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("0x{digits}");
}
