//! The parser: one function per precedence level of the table in the parent module, loosest first.

use super::{
    Scalar,
    lex::{Token, fail, tokens},
    node::{Arith, Compare, Function, List, Node},
};
use infeed_core::{Result, registry};
use std::{collections::HashMap, sync::Arc};

/// How deep parentheses, `not` and `-` may nest. This makes recursion over the tree safe.
const DEPTH: usize = 50;

/// Returns the tree and the names in it by index.
pub(super) fn parse(text: &str) -> Result<(Node, Vec<Arc<str>>)> {
    let mut parser =
        Parser { text, tokens: tokens(text)?, at: 0, depth: 0, names: vec![], known: HashMap::new() };
    if *parser.peek() == Token::End {
        return Err(parser.expected("a filter, like `label == 3`"));
    }
    let node = parser.or()?;
    if *parser.peek() != Token::End {
        return Err(parser.expected("`and`, `or` or the end"));
    }
    Ok((node, parser.names))
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<(Token<'t>, usize)>,
    at: usize,
    depth: usize,
    names: Vec<Arc<str>>,
    known: HashMap<&'t str, usize>,
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.at].0
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.peek().clone();
        // The end token is never consumed.
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn fail(&self, what: &str) -> infeed_core::Error {
        fail(self.text, self.tokens[self.at].1, what)
    }

    fn expected(&self, what: &str) -> infeed_core::Error {
        self.fail(&format!("expected {what}, found {}", self.peek().words()))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    /// Returns whether the token `ahead` positions further on is this keyword.
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        let token = self.tokens.get(self.at + ahead).map(|(token, _)| token);
        matches!(token, Some(Token::Word(w)) if w.eq_ignore_ascii_case(word))
    }

    fn skip_sign(&mut self, sign: &str) -> bool {
        let is = self.is_sign(sign);
        self.at += usize::from(is);
        is
    }

    fn skip_word(&mut self, word: &str) -> bool {
        let is = self.is_word(0, word);
        self.at += usize::from(is);
        is
    }

    fn need(&mut self, sign: &str, what: &str) -> Result<()> {
        if self.skip_sign(sign) { Ok(()) } else { Err(self.expected(what)) }
    }

    /// Runs `inner` one nesting level deeper.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH {
            return Err(self.fail(&format!("nested more than {DEPTH} deep")));
        }
        self.depth += 1;
        let out = inner(self);
        self.depth -= 1;
        out
    }

    fn or(&mut self) -> Result<Node> {
        let mut all = vec![self.and()?];
        while self.skip_word("or") || self.skip_sign("||") {
            all.push(self.and()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::Or(all) })
    }

    fn and(&mut self) -> Result<Node> {
        let mut all = vec![self.not()?];
        while self.skip_word("and") || self.skip_sign("&&") {
            all.push(self.not()?);
        }
        Ok(if all.len() == 1 { all.remove(0) } else { Node::And(all) })
    }

    fn not(&mut self) -> Result<Node> {
        if self.skip_word("not") || self.skip_sign("!") {
            return Ok(Node::Not(Box::new(self.deeper(Self::not)?)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Node> {
        let item = self.sum()?;
        let mut chain = vec![];
        while let Some(op) = self.compare() {
            if self.is_word(0, "none") {
                return Err(self.fail("nothing compares with none: expected a value, or `is none` before it"));
            }
            chain.push((op, self.sum()?));
        }
        if !chain.is_empty() {
            return Ok(Node::Compare(Box::new(item), chain));
        }
        let item = Box::new(item);
        if self.skip_word("is") {
            let not = self.skip_word("not");
            return if self.skip_word("none") {
                Ok(Node::IsNone { item, not })
            } else {
                Err(self.expected(if not { "`none`" } else { "`none` or `not none`" }))
            };
        }
        let not = self.is_word(0, "not") && (self.is_word(1, "in") || self.is_word(1, "like"));
        self.at += usize::from(not);
        if self.skip_word("in") {
            self.need("(", "`(` and a list of values")?;
            let list = self.deeper(|p| p.list(Self::sum))?;
            return Ok(Node::In { item, list: List::of(list), not });
        }
        if self.skip_word("like") {
            let Token::Text(pattern) = self.peek().clone() else {
                return Err(self.expected("a pattern in quotes, like \"n01*\""));
            };
            self.take();
            return Ok(Node::Like { item, pattern: pattern.into(), not });
        }
        Ok(*item)
    }

    fn compare(&mut self) -> Option<Compare> {
        let Token::Sign(sign) = self.peek() else { return None };
        let op = match *sign {
            "==" | "=" => Compare::Equal,
            "!=" => Compare::Unequal,
            "<" => Compare::Less,
            "<=" => Compare::LessEqual,
            ">" => Compare::Greater,
            ">=" => Compare::GreaterEqual,
            _ => return None,
        };
        self.take();
        Some(op)
    }

    fn sum(&mut self) -> Result<Node> {
        self.arith(&[("+", Arith::Plus), ("-", Arith::Minus)], Self::product)
    }

    fn product(&mut self) -> Result<Node> {
        self.arith(&[("*", Arith::Times), ("/", Arith::Divide), ("%", Arith::Rest)], Self::minus)
    }

    fn arith(&mut self, ops: &[(&str, Arith)], tighter: fn(&mut Self) -> Result<Node>) -> Result<Node> {
        let first = tighter(self)?;
        let mut rest = vec![];
        while let Some((_, op)) = ops.iter().find(|(sign, _)| self.is_sign(sign)) {
            self.take();
            rest.push((*op, tighter(self)?));
        }
        Ok(if rest.is_empty() { first } else { Node::Arith(Box::new(first), rest) })
    }

    fn minus(&mut self) -> Result<Node> {
        if !self.skip_sign("-") {
            return self.value();
        }
        match *self.peek() {
            Token::Int(x) => {
                self.take();
                // Accepts -2^63, which has no positive counterpart.
                Ok(Node::Const(Scalar::Int(0i64.wrapping_sub_unsigned(x))))
            }
            Token::Float(x) => {
                self.take();
                Ok(Node::Const(Scalar::Float(-x)))
            }
            _ => Ok(Node::Minus(Box::new(self.deeper(Self::minus)?))),
        }
    }

    fn value(&mut self) -> Result<Node> {
        let value = match self.peek().clone() {
            Token::Int(x) => match i64::try_from(x) {
                Ok(x) => Scalar::Int(x),
                Err(_) => return Err(self.fail(&format!("the number {x} is too large"))),
            },
            Token::Float(x) => Scalar::Float(x),
            Token::Text(text) => Scalar::Text(text.into()),
            Token::Sign("(") => {
                self.take();
                let inner = self.deeper(Self::or)?;
                self.need(")", "`)`, `and` or `or`")?;
                return Ok(inner);
            }
            Token::Word(word) => match word.to_ascii_lowercase().as_str() {
                "true" => Scalar::Bool(true),
                "false" => Scalar::Bool(false),
                "and" | "or" | "not" | "in" | "is" | "like" | "none" => return Err(self.expected("a value")),
                _ => return self.name(word),
            },
            _ => return Err(self.expected("a value")),
        };
        self.take();
        Ok(Node::Const(value))
    }

    /// Parses a name, or a function with its arguments.
    fn name(&mut self, word: &'t str) -> Result<Node> {
        if self.tokens.get(self.at + 1).is_some_and(|(token, _)| *token == Token::Sign("(")) {
            let Some(&(function, name, least, most)) = Function::ALL.iter().find(|known| known.1 == word)
            else {
                let all = Function::ALL.map(|known| known.1);
                let near = registry::nearest(word, &all);
                let near = near.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
                return Err(self
                    .fail(&format!("there is no function `{word}`{near} (there are: {})", all.join(", "))));
            };
            let start = self.at;
            self.at += 2;
            let args = self.deeper(|p| p.list(Self::or))?;
            if args.len() < least || args.len() > most {
                self.at = start;
                let want = if most == 1 { "one value" } else { "two values or more" };
                return Err(self.fail(&format!("{name} takes {want}, found {}", args.len())));
            }
            return Ok(Node::Call(function, args));
        }
        self.take();
        let slot = *self.known.entry(word).or_insert_with(|| {
            self.names.push(Arc::from(word));
            self.names.len() - 1
        });
        Ok(Node::Name(Arc::clone(&self.names[slot]), slot))
    }

    /// Parses values up to the closing parenthesis; a trailing comma is allowed, as in Python.
    fn list(&mut self, item: fn(&mut Self) -> Result<Node>) -> Result<Vec<Node>> {
        let mut all = vec![item(self)?];
        while !self.skip_sign(")") {
            self.need(",", "`,` or `)`")?;
            if self.skip_sign(")") {
                break;
            }
            all.push(item(self)?);
        }
        Ok(all)
    }
}
