//! Arithmetic in values: `(8*1024)`, `(2^10)k`, `4*$ncpus`.

/// Maximum nesting depth, deeper than anybody writes.
const DEEPEST: u32 = 32;

/// Evaluates `+ - * / % ^` and parentheses over numbers. `unit` returns the factor of the letters after a
/// number or a parenthesis, or `None` if they are not a unit. Returns `None` if the text is not an expression
/// or its value is not finite.
pub fn evaluate(text: &str, unit: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut parser = Parser { rest: text, unit, depth: 0 };
    let value = parser.sum()?;
    (parser.rest.trim().is_empty() && value.is_finite()).then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    unit: &'a dyn Fn(&str) -> Option<f64>,
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, wanted: char) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(wanted) {
            Some(behind) => {
                self.rest = behind;
                true
            }
            None => false,
        }
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.power()?;
        loop {
            if self.take('*') {
                value *= self.power()?;
            } else if self.take('/') {
                value /= self.power()?;
            } else if self.take('%') {
                value %= self.power()?;
            } else {
                return Some(value);
            }
        }
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.atom()?;
        if !self.take('^') {
            return Some(base);
        }
        self.nested(Self::power).map(|exponent| base.powf(exponent))
    }

    fn atom(&mut self) -> Option<f64> {
        if self.take('-') {
            return self.nested(Self::atom).map(|value| -value);
        }
        let value = if self.take('(') {
            let value = self.nested(Self::sum)?;
            if !self.take(')') {
                return None;
            }
            value
        } else {
            self.number()?
        };
        let end = self.rest.find(|c: char| !c.is_alphabetic()).unwrap_or(self.rest.len());
        let (letters, behind) = self.rest.split_at(end);
        self.rest = behind;
        if letters.is_empty() { Some(value) } else { Some(value * (self.unit)(letters)?) }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Option<f64>) -> Option<f64> {
        self.depth += 1;
        let value = if self.depth > DEEPEST { None } else { inner(self) };
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Option<f64> {
        let text = self.rest.trim_start();
        if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            let end = hex.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(hex.len());
            let value = u64::from_str_radix(&hex[..end], 16).ok()?;
            self.rest = &hex[end..];
            return Some(value as f64);
        }
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let value = text[..end].parse().ok()?;
        self.rest = &text[end..];
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(text: &str) -> Option<f64> {
        evaluate(text, &|unit| (unit == "k").then_some(1024.0))
    }

    #[test]
    fn operators_follow_arithmetic_precedence() {
        for (text, wanted) in [
            ("7", 7.0),
            ("1+2*3", 7.0),
            ("(1+2)*3", 9.0),
            ("2^3^2", 512.0),
            ("10-4-3", 3.0),
            ("17%5", 2.0),
            ("(4+4)k", 8192.0),
            ("4k*2", 8192.0),
            ("-(2)+5", 3.0),
            ("0x10 + 1", 17.0),
            (" ( 1.5 * 2 ) ", 3.0),
        ] {
            assert_eq!(value(text), Some(wanted), "{text}");
        }
        for text in ["", "(", "1+", "2 3", "4q", "1/0", "()", "a", "0x"] {
            assert_eq!(value(text), None, "{text}");
        }
    }

    #[test]
    fn deeply_nested_expressions_are_rejected() {
        assert_eq!(value(&"(".repeat(100_000)), None);
        assert_eq!(value(&"-".repeat(100_000)), None);
        assert_eq!(value(&"1^".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9+*/%^().k-]{0,40}") {
            let _ = value(&text);
        }
    }
}
