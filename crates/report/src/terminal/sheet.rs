//! A page that is being filled: lines, wrapped text, colours.

use super::Page;
use iogauge_model::plain_text::shown_in_line;
use unicode_width::UnicodeWidthStr;

/// The meaning of a colour. Everything is also said in words.
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

/// Wider text is hard to read, even on a wide page.
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

    /// Writes one line that is known to fit.
    pub(super) fn line(&mut self, paint: Paint, line: &str) {
        let line = shown_in_line(line);
        if self.page.color && paint != Paint::Plain {
            self.text.push_str(&format!("\x1b[{}m{line}\x1b[0m\n", paint.code()));
        } else {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// Adds an empty line, unless the page is still empty.
    pub(super) fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    /// Writes text wrapped at spaces; lines after the first are indented by two columns.
    pub(super) fn text(&mut self, paint: Paint, text: &str) {
        for line in wrap(text, 2, self.columns().min(WIDEST_TEXT)) {
            self.line(paint, &line);
        }
    }

    /// Writes wrapped text, indented by two columns, below the line to which it belongs.
    pub(super) fn below(&mut self, paint: Paint, text: &str) {
        for line in wrap(text, 2, self.columns().min(WIDEST_TEXT) - 2) {
            self.line(paint, &format!("  {line}"));
        }
    }

    /// Writes names in one column and wrapped text in another. Pairs without text are left out.
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

/// Escapes control characters, which could move the cursor or change colours, and characters that change
/// the text direction.
pub(super) fn clean(text: &str) -> String {
    shown_in_line(text).into_owned()
}

/// Cuts the text to `width` columns. An ellipsis replaces the end, or the beginning if the end matters
/// more, as in a path.
pub(super) fn cut(text: &str, width: usize, keep_end: bool) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    // A character may change the width of the one before it, so whole strings are measured.
    let letters: Vec<char> = text.chars().collect();
    let kept = |n: usize| -> String {
        match keep_end {
            true => std::iter::once(&'…').chain(&letters[letters.len() - n..]).collect(),
            false => letters[..n].iter().chain(&['…']).collect(),
        }
    };
    let fits = |n: &usize| kept(*n).width() <= width;
    (0..letters.len()).rev().find(fits).map_or_else(String::new, kept)
}

/// Cuts the text to `width` columns behind a word, so that no figure loses digits or its unit. What stands in
/// parentheses stays whole. An ellipsis replaces the end. Only a beginning that does not fit is cut itself.
pub(super) fn cut_behind_word(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let is_whole = |kept: &&str| {
        let is_closed = kept.matches('(').count() <= kept.matches(')').count();
        is_closed && !kept.ends_with(|last: char| last.is_numeric() || last == '≤')
    };
    let starts = text.match_indices(' ').map(|(space, _)| &text[..space]).filter(is_whole);
    let mut kept = starts.map(|kept| format!("{} …", kept.trim_end_matches([' ', ',', ';', ':'])));
    let fits = kept.rfind(|kept| kept.width() <= width && kept != " …");
    fits.unwrap_or_else(|| cut(text, width, false))
}

/// Wraps text into lines of at most `width` columns; longer words, such as paths, are broken.
fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut words_in_line = 0;
    for word in clean(text).split_whitespace() {
        let space = if words_in_line > 0 { " " } else { "" };
        if words_in_line > 0 && format!("{line} {word}").width() > width {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
            words_in_line = 0;
        } else {
            line.push_str(space);
        }
        words_in_line += 1;
        for c in word.chars() {
            // A character may change the width of the one before it, so the whole line is measured.
            line.push(c);
            if line.width() > width {
                line.pop();
                lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
                line.push(c);
            }
        }
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_words_longer_than_a_line_are_broken() {
        assert_eq!(wrap("ab cd efghijkl", 1, 6), ["ab cd", " efghi", " jkl"]);
        assert_eq!(wrap("", 2, 10), [""]);
        // The variation selector makes the sign two columns wide instead of one.
        assert_eq!(wrap("abc☀\u{fe0f}", 0, 4), ["abc☀", "\u{fe0f}"]);
        assert_eq!(cut("/a/long/path", 6, true), "…/path");
        assert_eq!(cut("abcdefgh", 4, false), "abc…");
    }

    #[test]
    fn figures_are_not_cut_in_their_middle() {
        let text = "at least 17,612 IOPS (± 0.7 %) at queue depth 8, p99 ≤ 5 ms";
        let cut = |width| cut_behind_word(text, width);
        assert_eq!(cut(80), text);
        assert_eq!(cut(14), "at least …");
        assert_eq!(cut(24), "at least 17,612 IOPS …");
        assert_eq!(cut(31), "at least 17,612 IOPS …");
        assert_eq!(cut(32), "at least 17,612 IOPS (± 0.7 %) …");
        assert_eq!(cut(50), "at least 17,612 IOPS (± 0.7 %) at queue depth 8 …");
        assert_eq!(cut(57), "at least 17,612 IOPS (± 0.7 %) at queue depth 8 …");
        assert_eq!(cut(17), "at least …");
        assert_eq!(cut(5), "at …");
        assert_eq!(cut_behind_word("/a/long/path", 6), "/a/lo…");
    }

    proptest! {
        #[test]
        fn wrapping_respects_width_and_preserves_text(text in "\\PC{0,120}", width in 8usize..80) {
            let lines = wrap(&text, 2, width);
            for line in &lines {
                prop_assert!(line.width() <= width, "{:?}", line);
            }
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&clean(&text)));
        }

        #[test]
        fn truncated_terminal_text_fits_the_width(text in "\\PC{0,60}", width in 1usize..40, keep_end: bool) {
            prop_assert!(cut(&text, width, keep_end).width() <= width);
            prop_assert!(cut_behind_word(&text, width).width() <= width);
        }
    }
}
