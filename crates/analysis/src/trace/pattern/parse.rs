//! Parser of patterns: splits the text into tokens, then parses them by recursive descent.

use super::syntax::{Atom, Choice, Name, Node, PatternError, PatternFault, WantedPath, error};
use crate::path_name::NamePrefix;

/// Returns the length in bytes of the longest known name at the start of a text, or 0.
type Known<'a> = dyn Fn(&str) -> usize + 'a;

/// Parses a pattern into its syntax tree and, by the number of each [`Node::Event`], its events.
pub(super) fn parse(text: &str, known: &Known<'_>) -> Result<(Node, Vec<Choice>), PatternError> {
    let mut parser = Parser::new(text, known)?;
    let node = parser.pattern()?;
    match parser.tokens.get(parser.next) {
        None => Ok((node, parser.choices)),
        Some(token) => Err(error(token.position, PatternFault::Unopened)),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum TokenKind {
    /// An operator, a parenthesis, or `.`.
    Mark(char),
    /// A quoted name or a known name.
    Name(String),
    /// A word without quotes: a keyword such as `enter`, or a name.
    Word(String),
    /// A name, and the number or short name of a path.
    Path(String, WantedPath),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Token {
    kind: TokenKind,
    /// Position in the text, in characters.
    position: usize,
}

struct Parser {
    tokens: Vec<Token>,
    /// Index of the next token.
    next: usize,
    /// Length of the text, in characters.
    end: usize,
    /// By the number of each [`Node::Event`]: the events that match.
    choices: Vec<Choice>,
    /// Number of open parentheses and `!`, plus 1 for the whole pattern.
    depth: usize,
}

/// Maximum of [`Parser::depth`].
const MAX_DEPTH: usize = 100;
/// Maximum number of events in a pattern.
const MAX_EVENTS: usize = 1000;

impl Parser {
    fn new(text: &str, known: &Known<'_>) -> Result<Parser, PatternError> {
        Ok(Parser {
            tokens: tokens(text, known)?,
            next: 0,
            end: text.chars().count(),
            choices: Vec::new(),
            depth: 0,
        })
    }

    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.next).map(|token| &token.kind)
    }

    /// Position of the next token in the text.
    fn position(&self) -> usize {
        self.tokens
            .get(self.next)
            .map_or(self.end, |token| token.position)
    }

    /// Reads this mark, if it is the next token. Returns whether it is.
    fn accept(&mut self, mark: char) -> bool {
        let is_next = self.peek() == Some(&TokenKind::Mark(mark));
        self.next += usize::from(is_next);
        is_next
    }

    fn pattern(&mut self) -> Result<Node, PatternError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(self.position(), PatternFault::NestedTooDeep));
        }
        let (position, first) = (self.position(), self.choices.len());
        let mut nodes = vec![self.sequence()?];
        while self.accept('|') {
            nodes.push(self.sequence()?);
        }
        self.depth -= 1;
        let node = single_or(nodes, Node::Alternatives);
        match self.choice(&node) {
            // A choice between single events is a single event.
            Some(choice) => {
                self.choices.truncate(first);
                self.push_choice(position, choice)
            }
            None => Ok(node),
        }
    }

    fn sequence(&mut self) -> Result<Node, PatternError> {
        let mut nodes = Vec::new();
        while self
            .peek()
            .is_some_and(|kind| !matches!(kind, TokenKind::Mark('|' | ')')))
        {
            nodes.push(self.item()?);
        }
        if nodes.is_empty() {
            return Err(error(self.position(), PatternFault::NoEvent));
        }
        Ok(single_or(nodes, Node::Sequence))
    }

    fn item(&mut self) -> Result<Node, PatternError> {
        let node = self.primary()?;
        // Repeated operators have the effect of one operator.
        let (mut min_count, mut is_repeated) = (1, false);
        loop {
            if self.accept('*') {
                (min_count, is_repeated) = (0, true);
            } else if self.accept('+') {
                is_repeated = true;
            } else if self.accept('?') {
                min_count = 0;
            } else {
                break;
            }
        }
        Ok(match (is_repeated, min_count) {
            (false, 1) => node,
            (false, _) => Node::Optional(Box::new(node)),
            (true, min_count) => Node::Repeat {
                node: Box::new(node),
                min_count,
            },
        })
    }

    fn primary(&mut self) -> Result<Node, PatternError> {
        let position = self.position();
        if self.accept('(') {
            let node = self.pattern()?;
            if !self.accept(')') {
                return Err(error(position, PatternFault::Unclosed));
            }
            return Ok(node);
        }
        if self.accept('!') {
            let first = self.choices.len();
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(error(position, PatternFault::NegatedTooOften));
            }
            let node = self.primary()?;
            self.depth -= 1;
            let mut choice = self
                .choice(&node)
                .ok_or_else(|| error(position, PatternFault::NegatedSequence))?;
            choice.is_negated = !choice.is_negated;
            self.choices.truncate(first);
            return self.push_choice(position, choice);
        }
        let atom = self.atom()?;
        self.push_choice(
            position,
            Choice {
                atoms: vec![atom],
                is_negated: false,
            },
        )
    }

    fn push_choice(&mut self, position: usize, choice: Choice) -> Result<Node, PatternError> {
        if self.choices.len() == MAX_EVENTS {
            return Err(error(position, PatternFault::TooManyEvents));
        }
        self.choices.push(choice);
        Ok(Node::Event(self.choices.len() - 1))
    }

    /// The events that a node matches; `None` if it does not match single events.
    fn choice(&self, node: &Node) -> Option<Choice> {
        match node {
            Node::Event(index) => Some(self.choices[*index].clone()),
            Node::Alternatives(nodes) => {
                let mut union = Choice {
                    atoms: Vec::new(),
                    is_negated: false,
                };
                for node in nodes {
                    let choice = self.choice(node).filter(|choice| !choice.is_negated)?;
                    union.atoms.extend(choice.atoms);
                }
                Some(union)
            }
            Node::Sequence(_) | Node::Repeat { .. } | Node::Optional(_) => None,
        }
    }

    fn atom(&mut self) -> Result<Atom, PatternError> {
        let position = self.position();
        let Some(kind) = self.peek().cloned() else {
            return Err(error(position, PatternFault::End));
        };
        self.next += 1;
        Ok(match kind {
            TokenKind::Mark('.') => Atom::Any,
            TokenKind::Mark(mark) => {
                return Err(error(position, PatternFault::Operator(mark)));
            }
            TokenKind::Path(text, path) => Atom::Path(Name { text, position }, path),
            TokenKind::Name(text) => Atom::Function(Name { text, position }),
            TokenKind::Word(word) => match &*word {
                "enter" => Atom::Enter(self.target("enter")?),
                "leave" => Atom::Leave(self.target("leave")?),
                "return" => Atom::Leave(None),
                "left" => Atom::Left,
                _ => Atom::Function(Name {
                    text: word,
                    position,
                }),
            },
        })
    }

    fn target(&mut self, word: &str) -> Result<Option<Name>, PatternError> {
        let position = self.position();
        if self.accept('.') {
            return Ok(None);
        }
        match self.peek().cloned() {
            Some(TokenKind::Name(text) | TokenKind::Word(text)) => {
                self.next += 1;
                Ok(Some(Name { text, position }))
            }
            _ => Err(error(position, PatternFault::NoFunction(word.to_owned()))),
        }
    }
}

/// The only node of a list, or the node that `combine` makes of several nodes.
fn single_or(mut nodes: Vec<Node>, combine: impl FnOnce(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(node) if nodes.is_empty() => node,
        last => {
            nodes.extend(last);
            combine(nodes)
        }
    }
}

fn tokens(text: &str, known: &Known<'_>) -> Result<Vec<Token>, PatternError> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    // Index of the next character. `remaining` is the text from character `remaining_start` on.
    let mut next = 0;
    let mut remaining = text;
    let mut remaining_start = 0;
    while next < chars.len() {
        let read_chars = chars[remaining_start..next].iter();
        let read_bytes: usize = read_chars.map(|c| c.len_utf8()).sum();
        (remaining, remaining_start) = (&remaining[read_bytes..], next);
        if chars[next].is_whitespace() {
            next += 1;
            continue;
        }
        let position = next;
        // A known name wins if it is longer than the word that begins here.
        let kind = match known_name(remaining, known) {
            Some(name) if position + name.chars().count() > end_of_name(&chars, position) => {
                next += name.chars().count();
                TokenKind::Name(name.to_owned())
            }
            _ => read_token(&chars, &mut next)?,
        };
        let kind = with_path(kind, &chars, &mut next)?;
        tokens.push(Token { kind, position });
    }
    Ok(tokens)
}

/// The known name at the start of a text, unless more characters of a name follow.
fn known_name<'a>(text: &'a str, known: &Known<'_>) -> Option<&'a str> {
    let (name, after) = text.split_at_checked(known(text))?;
    let continues = after.starts_with("::") || after.starts_with(is_name_char);
    (!name.is_empty() && !continues).then_some(name)
}

/// Reads a quoted name, a word, or a mark.
fn read_token(chars: &[char], next: &mut usize) -> Result<TokenKind, PatternError> {
    let position = *next;
    let c = chars[position];
    if c == '"' {
        let length = chars[position + 1..].iter().position(|&c| c == '"');
        let length = length.ok_or_else(|| error(position, PatternFault::Unquoted))?;
        *next = position + length + 2;
        Ok(quoted(chars[position + 1..*next - 1].iter().collect()))
    } else if is_name_char(c) {
        *next = end_of_name(chars, position);
        Ok(TokenKind::Word(chars[position..*next].iter().collect()))
    } else if "()|!*+?.".contains(c) {
        *next += 1;
        Ok(TokenKind::Mark(c))
    } else {
        Err(error(position, PatternFault::Character(c)))
    }
}

/// The token of a quoted text: a name, or a name with the number or short name of a path.
fn quoted(text: String) -> TokenKind {
    if let Some((name, prefix)) = NamePrefix::split(&text)
        && !name.is_empty()
    {
        return TokenKind::Path(name.to_owned(), WantedPath::Named(prefix));
    }
    let path = text.rsplit_once(':').and_then(|(name, number)| {
        let is_name = !name.is_empty() && !name.ends_with(':');
        let number = number.parse().ok()?;
        is_name.then(|| TokenKind::Path(name.to_owned(), WantedPath::Number(number)))
    });
    path.unwrap_or(TokenKind::Name(text))
}

/// Adds the path to a name that a `:` or `#` follows.
fn with_path(kind: TokenKind, chars: &[char], next: &mut usize) -> Result<TokenKind, PatternError> {
    let (TokenKind::Name(name) | TokenKind::Word(name)) = &kind else {
        return Ok(kind);
    };
    if chars.get(*next) == Some(&'#') {
        let digits = chars[*next + 1..].iter().take_while(|c| is_name_char(**c));
        let digits: String = digits.collect();
        let prefix = NamePrefix::parse(&digits);
        let prefix = prefix.ok_or_else(|| error(*next, PatternFault::NoPathName))?;
        *next += 1 + digits.chars().count();
        return Ok(TokenKind::Path(name.clone(), WantedPath::Named(prefix)));
    }
    if chars.get(*next) != Some(&':') {
        return Ok(kind);
    }
    let digits = chars[*next + 1..].iter().take_while(|c| c.is_ascii_digit());
    let digits: String = digits.collect();
    let number = digits
        .parse()
        .map_err(|_| error(*next, PatternFault::NoPathNumber))?;
    *next += 1 + digits.len();
    Ok(TokenKind::Path(name.clone(), WantedPath::Number(number)))
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// End of the name that begins at `position`. A `::` is part of the name if more of the name
/// follows.
fn end_of_name(chars: &[char], position: usize) -> usize {
    let mut next = position;
    loop {
        while chars.get(next).is_some_and(|&c| is_name_char(c)) {
            next += 1;
        }
        let continues = chars.get(next..next + 2) == Some(&[':', ':'])
            && chars.get(next + 2).is_some_and(|&c| is_name_char(c));
        if !continues {
            return next;
        }
        next += 2;
    }
}
