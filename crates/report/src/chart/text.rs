//! How wide text is, without a font: what is drawn here is shown in whatever font a reader has.

/// An upper estimate of the width of a text in letters of this height: the advances of DejaVu Sans, which is
/// wider than most, by kinds of letters.
#[must_use]
pub fn width_of(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Width of a letter in heights.
fn em(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' | ' ' | '.' | ',' | ':' | ';' | '!' => 0.34,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | 'I' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '<' | '>' | '=' | '+' | '≤' | '≥' => 0.98,
        'A'..='Z' => 0.76,
        _ if letter.is_ascii() => 0.64,
        // Of other scripts some are twice as wide.
        _ if unicode_width::UnicodeWidthChar::width(letter) == Some(2) => 1.1,
        _ => 0.8,
    }
}

/// A text cut to a width, with a sign that it was.
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

/// A text in lines no wider than this, as far as its words let it; a longer word is cut.
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
    fn what_is_cut_fits() {
        for width in [0.0, 5.0, 30.0, 60.0, 1000.0] {
            let text = cut("randread 8 KiB on /dev/nvme0n1", 11.0, width);
            assert!(width_of(&text, 11.0) <= width.max(width_of("…", 11.0)), "{width}: {text}");
        }
    }

    #[test]
    fn lines_hold_all_words_and_fit() {
        let text = "Stopped by mean <= 10 ms: more load breaks it.";
        for width in [60.0, 120.0, 1000.0] {
            let lines = wrapped(text, 11.0, width);
            assert!(lines.iter().all(|line| width_of(line, 11.0) <= width), "{lines:?}");
            assert_eq!(lines.join(" "), text);
        }
        assert_eq!(wrapped(" ", 11.0, 50.0), Vec::<String>::new());
    }
}
