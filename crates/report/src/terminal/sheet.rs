//! A page being filled: lines, wrapped text, colours.

use super::Page;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What colour says; each is also said in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Strong,
    Good,
    Doubt,
    Bad,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Good => "1;32",
            Self::Doubt => "33",
            Self::Bad => "1;31",
        }
    }
}

/// Text wider than this is hard to read, however wide the page.
const WIDEST_TEXT: usize = 100;

pub(super) struct Sheet {
    text: String,
    page: Page,
}

impl Sheet {
    pub(super) fn new(page: Page) -> Self {
        Self { text: String::new(), page }
    }

    pub(super) fn columns(&self) -> usize {
        self.page.columns()
    }

    /// One line that is known to fit.
    pub(super) fn line(&mut self, paint: Paint, line: &str) {
        if self.page.color && paint != Paint::Plain {
            self.text.push_str(&format!("\x1b[{}m{line}\x1b[0m\n", paint.code()));
        } else {
            self.text.push_str(line);
            self.text.push('\n');
        }
    }

    /// An empty line, unless nothing stands above it.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Text wrapped at spaces; lines after the first stand two columns in.
    pub(super) fn text(&mut self, paint: Paint, text: &str) {
        for line in wrap(text, 2, self.columns().min(WIDEST_TEXT)) {
            self.line(paint, &line);
        }
    }

    /// Wrapped text that stands two columns in, below what it belongs to.
    pub(super) fn below(&mut self, paint: Paint, text: &str) {
        for line in wrap(text, 2, self.columns().min(WIDEST_TEXT) - 2) {
            self.line(paint, &format!("  {line}"));
        }
    }

    /// Names with what stands for them: names in one column, wrapped text beside it. Pairs without
    /// text are left out.
    pub(super) fn pairs(&mut self, pairs: &[(&str, String)]) {
        let told: Vec<_> = pairs.iter().filter(|(_, text)| !text.is_empty()).collect();
        let widest = told.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        let indent = widest + 2;
        for (name, text) in told {
            let lines = wrap(text, 0, self.columns().min(WIDEST_TEXT) - indent);
            for (number, line) in lines.iter().enumerate() {
                let name = if number == 0 { name } else { "" };
                let gap = " ".repeat(indent - name.width());
                self.line(Paint::Plain, &format!("{name}{gap}{line}"));
            }
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Text without control characters, which could move the cursor or change its colour.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The text cut to `width` columns; an ellipsis stands for what is left out at the end, or at the
/// beginning where the end tells more, as in a path.
pub(super) fn cut(text: &str, width: usize, keep_end: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let mut fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= room;
        room = if fits { room - width } else { 0 };
        fits
    };
    if keep_end {
        let kept: Vec<char> = text.chars().rev().take_while(&mut fits).collect();
        std::iter::once('…').chain(kept.into_iter().rev()).collect()
    } else {
        text.chars().take_while(&mut fits).chain(std::iter::once('…')).collect()
    }
}

/// Lines of at most `width` columns; words that are longer, such as paths, are broken.
fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    let mut words_in_line = 0;
    for word in clean(text).split_whitespace() {
        let space = usize::from(words_in_line > 0);
        if used + space + word.width() > width && words_in_line > 0 {
            lines.push(" ".repeat(indent));
            used = indent;
            words_in_line = 0;
        }
        if words_in_line > 0 {
            push(&mut lines, &mut used, ' ', 1);
        }
        words_in_line += 1;
        for c in word.chars() {
            let columns = c.width().unwrap_or(0);
            if used + columns > width {
                lines.push(" ".repeat(indent));
                used = indent;
            }
            push(&mut lines, &mut used, c, columns);
        }
    }
    lines
}

fn push(lines: &mut [String], used: &mut usize, c: char, columns: usize) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
        *used += columns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_words_are_broken_and_short_ones_kept_whole() {
        assert_eq!(wrap("ab cd efghijkl", 1, 6), ["ab cd", " efghi", " jkl"]);
        assert_eq!(wrap("", 2, 10), [""]);
        assert_eq!(cut("/a/long/path", 6, true), "…/path");
        assert_eq!(cut("abcdefgh", 4, false), "abc…");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_and_no_letter_is_lost(text in "\\PC{0,120}", width in 8usize..80) {
            let lines = wrap(&text, 2, width);
            for line in &lines {
                prop_assert!(line.width() <= width, "{:?}", line);
            }
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }

        #[test]
        fn cut_fits(text in "\\PC{0,60}", width in 1usize..40, keep_end: bool) {
            prop_assert!(cut(&text, width, keep_end).width() <= width);
        }
    }
}
