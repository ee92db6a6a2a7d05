//! The statements of a migration, parsed one by one, so that each has its line and one that cannot be parsed does not hide the others.

use sqlparser::ast::{ObjectName, Statement};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// With this first line, sqlx runs the file outside of a transaction.
const NO_TRANSACTION: &str = "-- no-transaction";

/// A parsed migration.
pub(super) struct Parsed {
    pub is_in_transaction: bool,
    pub statements: Vec<One>,
}

/// One statement of a migration.
pub(super) struct One {
    /// Line of its first word.
    pub line: u64,
    /// The statement, or the parser's message.
    pub parsed: Result<Statement, String>,
    /// Its words in lower case, without quoted texts and comments.
    pub words: Vec<String>,
    /// Its texts between dollars, such as the code of a `DO`.
    pub code: Vec<String>,
}

impl Parsed {
    /// Parses a file.
    pub fn of(text: &str) -> Parsed {
        let is_in_transaction = !text.starts_with(NO_TRANSACTION);
        let tokens = match Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location() {
            Ok(tokens) => tokens,
            Err(error) => {
                let one =
                    One { line: error.location.line, parsed: Err(error.message), words: Vec::new(), code: Vec::new() };
                return Parsed { is_in_transaction, statements: vec![one] };
            }
        };
        let statements = tokens.split(|token| token.token == Token::SemiColon).filter_map(One::of).collect();
        Parsed { is_in_transaction, statements }
    }
}

impl One {
    /// `None` if there are only spaces and comments.
    fn of(tokens: &[TokenWithSpan]) -> Option<One> {
        let code = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_) | Token::EOF);
        let first = tokens.iter().find(code)?;
        let words = tokens.iter().filter_map(|token| match &token.token {
            Token::Word(word) => Some(word.value.to_lowercase()),
            _ => None,
        });
        let code_of = |token: &TokenWithSpan| match &token.token {
            Token::DollarQuotedString(text) => Some(text.value.clone()),
            _ => None,
        };
        let texts = tokens.iter().filter_map(code_of).collect();
        let (line, words): (_, Vec<String>) = (first.span.start.line, words.collect());
        let mut tokens = tokens.to_vec();
        if words.starts_with(&["drop", "index", "concurrently"].map(str::to_owned)) {
            // The parser does not know this form.
            tokens.retain(|token| !matches!(&token.token, Token::Word(word) if word.keyword == Keyword::CONCURRENTLY));
        }
        let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens_with_locations(tokens);
        let parsed = match parser.parse_statement() {
            Ok(statement) if parser.peek_token().token == Token::EOF => Ok(statement),
            Ok(_) => Err(format!("unexpected {}", parser.peek_token().token)),
            Err(error) => Err(error.to_string()),
        };
        Some(One { line, parsed, words, code: texts })
    }
}

/// The name without its schema, in lower case.
pub(super) fn plain(name: &ObjectName) -> String {
    let last = name.0.last().and_then(|part| part.as_ident());
    last.map_or_else(|| name.to_string(), |ident| ident.value.clone()).to_lowercase()
}
