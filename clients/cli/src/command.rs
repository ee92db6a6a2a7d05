//! The command line: a command per operation, made from the library's list, and the commands of this program.

use crate::connection;
use crate::failure::{self, Failure};
use crate::output::{self, Format};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use risk_data_client::{Access, Answers, Kind, Operation, Parameter, operations};
use std::collections::BTreeMap;
use std::path::PathBuf;

const ABOUT: &str = "Reads the Risk Data Service: vaults, scores, events, portfolio checks";
const AFTER: &str = "\
Examples:
  rds vaults list --risk-tier prime --limit 5
  rds vaults list --all --format csv > vaults.csv
  rds watch --cursor-file cursor
  rds check portfolio.csv --max-share protocol=0.6
  rds verify decision.json --signers signers.json

Exit codes:
  0  done; verdict approve; decision genuine
  1  error
  2  verdict caution
  3  verdict reject; decision not genuine

The key comes from --key -, --key-file, RDS_API_KEY, or the file rds/key in the configuration folder, in this order.";

/// The whole command line.
pub fn command() -> Command {
    let mut resources: BTreeMap<&str, Vec<&'static Operation>> = BTreeMap::new();
    for it in operations::ALL.iter().filter(|it| it.answers != Answers::Stream) {
        resources.entry(it.resource).or_default().push(it);
    }
    let mut all = Command::new("rds")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .args(connection::options())
        .subcommands([watch(), check(), verify(), completions_command(), man_command()]);
    for (resource, operations) in resources {
        let mut group = Command::new(kebab(resource))
            .about(format!("Operations of {}", resource.replace('_', " ")))
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(operations.into_iter().map(of_operation));
        if resource == "webhooks" {
            group = group.subcommand(listen());
        }
        all = all.subcommand(group);
    }
    all
}

/// The operation of a command.
pub fn operation(resource: &str, method: &str) -> Result<&'static Operation, Failure> {
    let found = operations::ALL.iter().find(|it| kebab(it.resource) == resource && kebab(it.method) == method);
    found.copied().ok_or_else(|| Failure::Usage(format!("no command {resource} {method}")))
}

/// The id of a parameter's argument: it differs from those of this program's own options.
pub fn id(parameter: &Parameter) -> String {
    format!("parameter:{}", parameter.name)
}

fn of_operation(it: &'static Operation) -> Command {
    let access = match it.access {
        Access::Public => "No key is needed.".to_owned(),
        Access::Plan(plan) => format!("Needs a key of plan {plan} or higher."),
        Access::IndexToken => "Needs an index token.".to_owned(),
        _ => "Needs a key.".to_owned(),
    };
    let mut command = Command::new(kebab(it.method)).about(it.summary).long_about(it.about).args(output::options());
    command = command.after_help(format!("{} {}\n{access}", it.verb, it.path));
    for one in it.path_parameters {
        command =
            command.arg(Arg::new(id(one)).value_name(kebab(one.name).to_uppercase()).required(true).help(one.about));
    }
    for one in it.query_parameters {
        command = command.arg(flag(one));
    }
    if it.has_body {
        let body = Arg::new("body").long("body").value_name("FILE").value_parser(value_parser!(PathBuf)).required(true);
        command = command.arg(body.help("A file with the JSON body; `-` is standard input"));
    }
    if it.paging().is_some() {
        let all = Arg::new("all").long("all").action(ArgAction::SetTrue).help_heading("Output");
        command = command.arg(all.help("Every row, not only the first page"));
    }
    command
}

fn flag(it: &'static Parameter) -> Arg {
    let flag = Arg::new(id(it)).long(kebab(it.name)).help(it.about).required(it.required).help_heading("Filters");
    let flag = match it.kind {
        Kind::Integer => flag.value_name("N").value_parser(value_parser!(i64)).allow_negative_numbers(true),
        Kind::Number => flag.value_name("NUMBER").value_parser(value_parser!(f64)).allow_negative_numbers(true),
        Kind::Boolean => {
            flag.value_name("BOOLEAN").value_parser(value_parser!(bool)).num_args(0..=1).default_missing_value("true")
        }
        Kind::OneOf(values) => {
            flag.value_name("VALUE").value_parser(PossibleValuesParser::new(values)).ignore_case(true)
        }
        _ => flag.value_name("TEXT"),
    };
    if it.is_list { flag.value_delimiter(',').action(ArgAction::Append) } else { flag }
}

fn watch() -> Command {
    let cursor = Arg::new("cursor").long("cursor").value_name("CURSOR").help("Go on after this cursor");
    let file = Arg::new("cursor-file").long("cursor-file").value_name("FILE").value_parser(value_parser!(PathBuf));
    let vault = Arg::new("vault-id").long("vault-id").value_name("ID").help("Only operations of this vault");
    let count = Arg::new("count").long("count").value_name("N").value_parser(value_parser!(u64));
    let format = Arg::new("format").long("format").value_name("FORMAT").value_parser(["lines", "ndjson"]);
    Command::new("watch")
        .about("Follows the event stream; reconnects by itself and tells gaps")
        .after_help("Examples:\n  rds watch\n  rds watch --format ndjson --cursor-file cursor >> events.ndjson")
        .args([
            cursor.conflicts_with("cursor-file"),
            file.help("Go on after the cursor in this file, and keep it current"),
            vault,
            count.help("End after so many frames"),
            format.help("How frames are printed [default: lines on a terminal, else ndjson]"),
        ])
}

fn check() -> Command {
    let path = || value_parser!(PathBuf);
    let share = Arg::new("max-share").long("max-share").value_name("DIMENSION=SHARE").action(ArgAction::Append);
    let reference = Arg::new("ref").long("ref").value_name("NAME");
    let signers = Arg::new("signers").long("signers").value_name("FILE").value_parser(path());
    let save = Arg::new("save").long("save").value_name("FILE").value_parser(path());
    let unsigned =
        Arg::new("no-issue").long("no-issue").action(ArgAction::SetTrue).conflicts_with_all(["save", "signers"]);
    Command::new("check")
        .about("Checks a portfolio against limits, and verifies the signed decision on this machine")
        .after_help(
            "The file has the columns `vault` (chain id, colon, address) and `amount` (USD).\n\n\
             Examples:\n  rds check portfolio.csv --max-share protocol=0.6 --max-share bridge=0.2\n  \
             rds check portfolio.csv --signers signers.json --save decision.json\n\n\
             Exit codes: 0 approve, 2 caution, 3 reject, 1 error or a signature that does not verify.",
        )
        .args([
            Arg::new("portfolio")
                .value_name("FILE")
                .value_parser(path())
                .required(true)
                .help("CSV; `-` is standard input"),
            share.help("A limit, such as protocol=0.6"),
            reference.help("Your name for the portfolio [default: the file's name]"),
            signers.help("The registry of signers, as `rds graph signers --format json` prints it [default: fetched]"),
            save.help("Write the signed decision to this file"),
            unsigned.help("Do not ask for a signed decision"),
            format_of(&["text", "json"], "text"),
        ])
}

fn verify() -> Command {
    let decision = Arg::new("decision").value_name("FILE").value_parser(value_parser!(PathBuf)).required(true);
    let signers = Arg::new("signers").long("signers").value_name("FILE").value_parser(value_parser!(PathBuf));
    Command::new("verify")
        .about("Verifies a signed decision on this machine")
        .after_help(
            "Examples:\n  rds verify decision.json --signers signers.json\n  rds graph decision ID --format json | rds verify -\n\n\
             Exit codes: 0 genuine, 3 not genuine, 1 error.",
        )
        .args([
            decision.help("The answer of a check, a decision, or its `data`; `-` is standard input"),
            signers.help("The registry of signers, as `rds graph signers --format json` prints it [default: fetched]"),
            format_of(&["text", "json"], "text"),
        ])
}

fn listen() -> Command {
    let url = Arg::new("public-url").long("public-url").value_name("URL").required(true);
    let address = Arg::new("listen").long("listen").value_name("ADDRESS:PORT").default_value("127.0.0.1:8090");
    let families =
        Arg::new("families").long("families").value_name("TYPE").value_delimiter(',').action(ArgAction::Append);
    let count = Arg::new("count").long("count").value_name("N").value_parser(value_parser!(u64));
    Command::new("listen")
        .about("Registers a webhook, receives its deliveries on this machine, verifies and prints them")
        .after_help("Example:\n  rds webhooks listen --public-url https://hooks.example.com/risk --families rating.changed\n\nCtrl-C deregisters it.")
        .args([
            url.help("The address that the service delivers to, and that leads to --listen"),
            address.help("Where deliveries are received"),
            families.help("The event types [default: all]"),
            count.help("End after so many deliveries"),
        ])
}

fn completions_command() -> Command {
    let shell = Arg::new("shell").value_name("SHELL").value_parser(value_parser!(Shell)).required(true);
    Command::new("completions")
        .about("Prints completions for a shell")
        .after_help("Example:\n  rds completions bash > ~/.local/share/bash-completion/completions/rds")
        .arg(shell)
}

fn man_command() -> Command {
    let folder = Arg::new("dir").long("dir").value_name("FOLDER").value_parser(value_parser!(PathBuf));
    Command::new("man")
        .about("Prints the man page")
        .arg(folder.help("Write a page per command into this folder instead"))
}

fn format_of(values: &'static [&'static str], default: &'static str) -> Arg {
    let format = Arg::new("format").long("format").value_name("FORMAT").value_parser(PossibleValuesParser::new(values));
    format.default_value(default).help("How the result is printed").help_heading("Output")
}

/// Prints completions.
pub fn completions(given: &ArgMatches) -> Result<u8, Failure> {
    let shell = given.get_one::<Shell>("shell").ok_or_else(|| Failure::Usage("no shell".into()))?;
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut command(), "rds", &mut script);
    output::write(&script)?;
    Ok(failure::OK)
}

/// Prints the man page, or writes one per command.
pub fn man(given: &ArgMatches) -> Result<u8, Failure> {
    if let Some(folder) = given.get_one::<PathBuf>("dir") {
        clap_mangen::generate_to(command(), folder)?;
        return Ok(failure::OK);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command()).render(&mut page)?;
    output::write(&page)?;
    Ok(failure::OK)
}

/// The format that is given, or the one that fits where the output goes.
pub fn format(given: &ArgMatches) -> Format {
    given.get_one::<Format>("format").copied().unwrap_or_else(Format::fitting)
}

/// `riskTier` and `risk_tier` as `risk-tier`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    let mut after_small = false;
    for it in name.chars() {
        if it.is_ascii_uppercase() && after_small {
            out.push('-');
        }
        after_small = it.is_ascii_lowercase() || it.is_ascii_digit();
        out.push(if it == '_' { '-' } else { it.to_ascii_lowercase() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_has_no_contradictions_and_a_command_per_operation() {
        let command = command();
        command.clone().debug_assert();
        for it in operations::ALL.iter().filter(|it| it.answers != Answers::Stream) {
            let group = command.find_subcommand(kebab(it.resource)).unwrap();
            assert!(group.find_subcommand(kebab(it.method)).is_some(), "{}", it.id);
            assert_eq!(operation(&kebab(it.resource), &kebab(it.method)).unwrap().id, it.id);
        }
    }

    #[test]
    fn names_are_as_a_reader_expects() {
        assert_eq!(
            ["riskTier", "noIL", "basket_webhooks", "sortBy"].map(kebab),
            ["risk-tier", "no-il", "basket-webhooks", "sort-by"]
        );
    }
}
