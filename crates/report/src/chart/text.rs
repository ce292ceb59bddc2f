//! The width of text, estimated without a font, because readers' fonts differ.

/// Returns an upper estimate of the width of a text of this size, from the advances in DejaVu Sans, which
/// is wider than most fonts, by groups of letters.
#[must_use]
pub fn width_of(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Returns the width of a letter relative to the text size.
fn em(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' | ' ' | '.' | ',' | ':' | ';' | '!' => 0.34,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | 'I' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '<' | '>' | '=' | '+' | '≤' | '≥' => 0.98,
        'A'..='Z' => 0.76,
        _ if letter.is_ascii() => 0.64,
        // Some letters of other scripts are twice as wide.
        _ if unicode_width::UnicodeWidthChar::width(letter) == Some(2) => 1.1,
        _ => 0.8,
    }
}

/// Cuts a text to a width and marks the cut.
#[must_use]
pub(super) fn cut(text: &str, size: f64, width: f64) -> String {
    if width_of(text, size) <= width {
        return text.to_owned();
    }
    let room = width - width_of("…", size);
    let mut used = 0.0;
    let fits = |letter: &char| {
        used += em(*letter) * size;
        used <= room
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push('…');
    kept
}

/// Breaks a text at words into lines of at most this width. Longer words are cut.
#[must_use]
pub fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, size, width);
        match lines.last_mut() {
            Some(line) if width_of(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_chart_text_fits_the_width() {
        for width in [0.0, 5.0, 30.0, 60.0, 1000.0] {
            let text = cut("randread 8 KiB on /dev/nvme0n1", 11.0, width);
            assert!(width_of(&text, 11.0) <= width.max(width_of("…", 11.0)), "{width}: {text}");
        }
    }

    #[test]
    fn wrapped_lines_contain_all_words_and_fit() {
        let text = "Stopped by mean <= 10 ms: more load breaks it.";
        for width in [60.0, 120.0, 1000.0] {
            let lines = wrapped(text, 11.0, width);
            assert!(lines.iter().all(|line| width_of(line, 11.0) <= width), "{lines:?}");
            assert_eq!(lines.join(" "), text);
        }
        assert_eq!(wrapped(" ", 11.0, 50.0), Vec::<String>::new());
    }
}
