//! Splits the text of a program into tokens.

/// A word of the language.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    Number(i64),
    Name(String),
    Symbol(&'static str),
    NewLine,
}

const SYMBOLS: [&str; 11] = ["==", "<", ">", "=", "+", "-", "*", "/", "%", "(", ")"];

/// Splits a program into tokens; a comment runs from `#` to the end of its line.
#[inline(never)]
pub fn tokenize(text: &str) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut position = 0;
    while position < bytes.len() {
        match bytes[position] {
            b'\n' => {
                tokens.push(Token::NewLine);
                position += 1;
            }
            b' ' | b'\t' | b'\r' => position += 1,
            b'#' => position = skip_comment(bytes, position),
            b'0'..=b'9' => position = number(bytes, position, &mut tokens),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => position = name(text, position, &mut tokens),
            _ => position = symbol(text, position, &mut tokens),
        }
    }
    tokens
}

fn skip_comment(bytes: &[u8], start: usize) -> usize {
    let length = bytes[start..].iter().position(|&byte| byte == b'\n');
    length.map_or(bytes.len(), |length| start + length)
}

fn number(bytes: &[u8], start: usize, tokens: &mut Vec<Token>) -> usize {
    let mut position = start;
    let mut value = 0i64;
    while position < bytes.len() && bytes[position].is_ascii_digit() {
        value = value * 10 + i64::from(bytes[position] - b'0');
        position += 1;
    }
    tokens.push(Token::Number(value));
    position
}

fn name(text: &str, start: usize, tokens: &mut Vec<Token>) -> usize {
    let rest = &text[start..];
    let end = rest
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(rest.len());
    tokens.push(Token::Name(rest[..end].to_owned()));
    start + end
}

fn symbol(text: &str, start: usize, tokens: &mut Vec<Token>) -> usize {
    for symbol in SYMBOLS {
        if text[start..].starts_with(symbol) {
            tokens.push(Token::Symbol(symbol));
            return start + symbol.len();
        }
    }
    panic!("unknown character position byte {start}");
}
