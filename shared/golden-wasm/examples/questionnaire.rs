//! Prints the questionnaire in force as the one line of `fixtures/scoring/questionnaire.jsonl`, which the reference evaluator reads.

fn main() {
    println!("{}", rds_golden::questionnaire());
}
