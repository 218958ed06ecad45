//! Patterns read from text: tokens, then descent.

use super::syntax::{Atom, Choice, Name, Node, PatternError, PatternFault, error};

/// Gives how many bytes of the longest known name a text begins with.
type Known<'a> = dyn Fn(&str) -> usize + 'a;

/// Reads a pattern: its shape, and which events each of its places stands for.
pub(super) fn parse(text: &str, known: &Known<'_>) -> Result<(Node, Vec<Choice>), PatternError> {
    let mut parser = Parser::new(text, known)?;
    let node = parser.pattern()?;
    match parser.tokens.get(parser.next) {
        None => Ok((node, parser.choices)),
        Some(token) => Err(error(token.at, PatternFault::Unopened)),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum What {
    Mark(char),
    Name(String),
    Word(String),
    Path(String, u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Token {
    what: What,
    at: usize,
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    end: usize,
    choices: Vec<Choice>,
    depth: usize,
}

/// Parentheses within one another.
const DEPTH: usize = 100;
/// Events that a pattern may name.
const PLACES: usize = 1000;

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

    fn peek(&self) -> Option<&What> {
        self.tokens.get(self.next).map(|token| &token.what)
    }

    fn at(&self) -> usize {
        self.tokens
            .get(self.next)
            .map_or(self.end, |token| token.at)
    }

    fn takes(&mut self, mark: char) -> bool {
        let found = self.peek() == Some(&What::Mark(mark));
        self.next += usize::from(found);
        found
    }

    fn pattern(&mut self) -> Result<Node, PatternError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(error(self.at(), PatternFault::NestedTooDeep));
        }
        let (at, first) = (self.at(), self.choices.len());
        let mut nodes = vec![self.sequence()?];
        while self.takes('|') {
            nodes.push(self.sequence()?);
        }
        self.depth -= 1;
        let node = only(nodes, Node::Either);
        match self.choice(&node) {
            // A choice of events is one event.
            Some(choice) => {
                self.choices.truncate(first);
                self.place(at, choice)
            }
            None => Ok(node),
        }
    }

    fn sequence(&mut self) -> Result<Node, PatternError> {
        let mut nodes = Vec::new();
        while self
            .peek()
            .is_some_and(|what| !matches!(what, What::Mark('|' | ')')))
        {
            nodes.push(self.item()?);
        }
        if nodes.is_empty() {
            return Err(error(self.at(), PatternFault::NoEvent));
        }
        Ok(only(nodes, Node::Sequence))
    }

    fn item(&mut self) -> Result<Node, PatternError> {
        let node = self.one()?;
        // However many there are, they come to one.
        let (mut least, mut is_repeated) = (1, false);
        loop {
            if self.takes('*') {
                (least, is_repeated) = (0, true);
            } else if self.takes('+') {
                is_repeated = true;
            } else if self.takes('?') {
                least = 0;
            } else {
                break;
            }
        }
        Ok(match (is_repeated, least) {
            (false, 1) => node,
            (false, _) => Node::Perhaps(Box::new(node)),
            (true, least) => Node::Repeat {
                node: Box::new(node),
                least,
            },
        })
    }

    fn one(&mut self) -> Result<Node, PatternError> {
        let at = self.at();
        if self.takes('(') {
            let node = self.pattern()?;
            if !self.takes(')') {
                return Err(error(at, PatternFault::Unclosed));
            }
            return Ok(node);
        }
        if self.takes('!') {
            let first = self.choices.len();
            self.depth += 1;
            if self.depth > DEPTH {
                return Err(error(at, PatternFault::NegatedTooOften));
            }
            let node = self.one()?;
            self.depth -= 1;
            let mut choice = self
                .choice(&node)
                .ok_or_else(|| error(at, PatternFault::NegatedSequence))?;
            choice.others = !choice.others;
            self.choices.truncate(first);
            return self.place(at, choice);
        }
        let atom = self.atom()?;
        self.place(
            at,
            Choice {
                atoms: vec![atom],
                others: false,
            },
        )
    }

    fn place(&mut self, at: usize, choice: Choice) -> Result<Node, PatternError> {
        if self.choices.len() == PLACES {
            return Err(error(at, PatternFault::TooManyEvents));
        }
        self.choices.push(choice);
        Ok(Node::One(self.choices.len() - 1))
    }

    /// The set that a node is, if it stands for one event.
    fn choice(&self, node: &Node) -> Option<Choice> {
        match node {
            Node::One(place) => Some(self.choices[*place].clone()),
            Node::Either(nodes) => {
                let mut all = Choice {
                    atoms: Vec::new(),
                    others: false,
                };
                for node in nodes {
                    let choice = self.choice(node).filter(|choice| !choice.others)?;
                    all.atoms.extend(choice.atoms);
                }
                Some(all)
            }
            Node::Sequence(_) | Node::Repeat { .. } | Node::Perhaps(_) => None,
        }
    }

    fn atom(&mut self) -> Result<Atom, PatternError> {
        let at = self.at();
        let Some(what) = self.peek().cloned() else {
            return Err(error(at, PatternFault::End));
        };
        self.next += 1;
        Ok(match what {
            What::Mark('.') => Atom::Any,
            What::Mark(mark) => {
                return Err(error(at, PatternFault::Operator(mark)));
            }
            What::Path(text, path) => Atom::Path(Name { text, at }, path),
            What::Name(text) => Atom::Function(Name { text, at }),
            What::Word(word) => match &*word {
                "enter" => Atom::Enter(self.which("enter")?),
                "leave" => Atom::Leave(self.which("leave")?),
                "return" => Atom::Leave(None),
                "left" => Atom::Left,
                _ => Atom::Function(Name { text: word, at }),
            },
        })
    }

    fn which(&mut self, word: &str) -> Result<Option<Name>, PatternError> {
        let at = self.at();
        if self.takes('.') {
            return Ok(None);
        }
        match self.peek().cloned() {
            Some(What::Name(text) | What::Word(text)) => {
                self.next += 1;
                Ok(Some(Name { text, at }))
            }
            _ => Err(error(at, PatternFault::NoFunction(word.to_owned()))),
        }
    }
}

/// The only one, or all.
fn only(mut nodes: Vec<Node>, all: impl FnOnce(Vec<Node>) -> Node) -> Node {
    match nodes.pop() {
        Some(node) if nodes.is_empty() => node,
        last => {
            nodes.extend(last);
            all(nodes)
        }
    }
}

fn tokens(text: &str, known: &Known<'_>) -> Result<Vec<Token>, PatternError> {
    let chars: Vec<char> = text.chars().collect();
    let mut rest = text;
    let mut tokens = Vec::new();
    let mut next = 0;
    let mut passed = 0;
    while next < chars.len() {
        let skipped: usize = chars[passed..next].iter().map(|c| c.len_utf8()).sum();
        (rest, passed) = (&rest[skipped..], next);
        if chars[next].is_whitespace() {
            next += 1;
            continue;
        }
        let at = next;
        let what = match known_name(rest, known) {
            Some(name) if at + name.chars().count() > end_of_name(&chars, at) => {
                next += name.chars().count();
                What::Name(name.to_owned())
            }
            _ => plain_token(&chars, &mut next)?,
        };
        let what = with_path(what, &chars, &mut next)?;
        tokens.push(Token { what, at });
    }
    Ok(tokens)
}

/// The known name that a text begins with, if it ends there.
fn known_name<'a>(text: &'a str, known: &Known<'_>) -> Option<&'a str> {
    let (name, behind) = text.split_at_checked(known(text))?;
    let goes_on = behind.starts_with("::") || behind.starts_with(is_of_name);
    (!name.is_empty() && !goes_on).then_some(name)
}

/// What is quoted, a word, or a mark.
fn plain_token(chars: &[char], next: &mut usize) -> Result<What, PatternError> {
    let at = *next;
    let c = chars[at];
    if c == '"' {
        let length = chars[at + 1..].iter().position(|&c| c == '"');
        let length = length.ok_or_else(|| error(at, PatternFault::Unquoted))?;
        *next = at + length + 2;
        Ok(quoted(chars[at + 1..*next - 1].iter().collect()))
    } else if is_of_name(c) {
        *next = end_of_name(chars, at);
        Ok(What::Word(chars[at..*next].iter().collect()))
    } else if "()|!*+?.".contains(c) {
        *next += 1;
        Ok(What::Mark(c))
    } else {
        Err(error(at, PatternFault::Character(c)))
    }
}

/// What is in quotes: a name, or one with a path's number.
fn quoted(text: String) -> What {
    let path = text.rsplit_once(':').and_then(|(name, number)| {
        let is_name = !name.is_empty() && !name.ends_with(':');
        let number = number.parse().ok()?;
        is_name.then(|| What::Path(name.to_owned(), number))
    });
    path.unwrap_or(What::Name(text))
}

/// The name with the number behind it, if there is a `:`.
fn with_path(what: What, chars: &[char], next: &mut usize) -> Result<What, PatternError> {
    let (What::Name(name) | What::Word(name)) = &what else {
        return Ok(what);
    };
    if chars.get(*next) != Some(&':') {
        return Ok(what);
    }
    let digits = chars[*next + 1..].iter().take_while(|c| c.is_ascii_digit());
    let digits: String = digits.collect();
    let number = digits
        .parse()
        .map_err(|_| error(*next, PatternFault::NoPathNumber))?;
    *next += 1 + digits.len();
    Ok(What::Path(name.clone(), number))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Where a name that begins at `at` ends: `::` goes on where a name follows.
fn end_of_name(chars: &[char], at: usize) -> usize {
    let mut next = at;
    loop {
        while chars.get(next).is_some_and(|&c| is_of_name(c)) {
            next += 1;
        }
        let goes_on = chars.get(next..next + 2) == Some(&[':', ':'])
            && chars.get(next + 2).is_some_and(|&c| is_of_name(c));
        if !goes_on {
            return next;
        }
        next += 2;
    }
}
