//! Inks, the roles in which marks are drawn, and the themes that assign colours to them.

/// A role. Marks of the same role have the same colour in every panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ink {
    /// The background of the picture.
    Surface,
    /// Text and figures.
    Text,
    /// Secondary text and figures: axes, notes.
    Muted,
    /// Grid lines, frames of bars.
    Grid,
    /// A series by its number. Numbers repeat after [`Ink::SERIES`]: the ninth series looks like the first.
    Series(u8),
    /// A latency bucket, from 0 (fast) to [`Ink::BUCKETS`] − 1 (slow).
    Bucket(u8),
    /// A background that marks fast (0), ordinary (1) and slow (2).
    Shade(u8),
    /// A cell in a map of amounts, from 0 (little) to [`Ink::LEVELS`] − 1 (much).
    Amount(u8),
    /// A cell in a map of times, from 0 (short) to [`Ink::LEVELS`] − 1 (long).
    Wait(u8),
    /// A share in a heat map, from 0 (almost nothing) to [`Ink::HEATS`] − 1 (most).
    Heat(u8),
    /// A limit, and values that violate it.
    Limit,
    /// An answer, and values that meet a limit.
    Good,
    /// A value that fell unexpectedly but harmlessly, such as the latency at a higher queue depth.
    Fell,
    /// A value that grew.
    Grew,
    /// A value that grew without a benefit, such as the latency while the throughput fell.
    Worse,
}

impl Ink {
    /// Number of latency buckets.
    pub const BUCKETS: u8 = 16;
    /// Number of distinguishable series.
    pub const SERIES: u8 = 8;
    /// Number of background shades.
    pub const SHADES: u8 = 3;
    /// Opacity of a bar that shows growth.
    pub const BAR: f64 = 0.75;
    /// Number of levels of map cells.
    pub const LEVELS: u8 = 8;
    /// Number of distinguishable shares in a heat map.
    pub const HEATS: u8 = 6;

    /// Returns every role.
    pub fn all() -> impl Iterator<Item = Self> {
        let fixed = [
            Self::Surface,
            Self::Text,
            Self::Muted,
            Self::Grid,
            Self::Limit,
            Self::Good,
            Self::Fell,
            Self::Grew,
            Self::Worse,
        ];
        let numbered = (0..Self::SERIES).map(Self::Series);
        let numbered = numbered.chain((0..Self::BUCKETS).map(Self::Bucket));
        let numbered = numbered.chain((0..Self::SHADES).map(Self::Shade));
        let levels = (0..Self::LEVELS).map(Self::Amount);
        let levels = levels.chain((0..Self::LEVELS).map(Self::Wait));
        let levels = levels.chain((0..Self::HEATS).map(Self::Heat));
        fixed.into_iter().chain(numbered).chain(levels)
    }

    /// Returns the role's name in style sheets: letters and digits.
    #[must_use]
    pub fn word(self) -> String {
        match self {
            Self::Surface => "surface".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Series(number) => format!("s{}", number % Self::SERIES),
            Self::Bucket(number) => format!("b{}", number.min(Self::BUCKETS - 1)),
            Self::Shade(number) => format!("h{}", number.min(Self::SHADES - 1)),
            Self::Amount(level) => format!("a{}", level.min(Self::LEVELS - 1)),
            Self::Wait(level) => format!("w{}", level.min(Self::LEVELS - 1)),
            Self::Heat(number) => format!("t{}", number.min(Self::HEATS - 1)),
            Self::Limit => "limit".to_owned(),
            Self::Good => "good".to_owned(),
            Self::Fell => "fell".to_owned(),
            Self::Grew => "grew".to_owned(),
            Self::Worse => "worse".to_owned(),
        }
    }
}

/// The colours of all roles, as `#rrggbb`.
///
/// The series colours follow those of Okabe and Ito (Color Universal Design, 2008), darkened or lightened
/// until their contrast with the surface is at least 3:1 (WCAG 2.2, 1.4.11), without two blues. The contrast of text is at
/// least 4.5:1 (1.4.3), also on map cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    pub name: &'static str,
    surface: &'static str,
    text: &'static str,
    muted: &'static str,
    grid: &'static str,
    limit: &'static str,
    good: &'static str,
    fell: &'static str,
    grew: &'static str,
    worse: &'static str,
    shades: [&'static str; Ink::SHADES as usize],
    heats: [&'static str; Ink::HEATS as usize],
    series: [&'static str; Ink::SERIES as usize],
    buckets: [&'static str; Ink::BUCKETS as usize],
    amounts: [&'static str; Ink::LEVELS as usize],
    waits: [&'static str; Ink::LEVELS as usize],
}

/// For paper and bright rooms.
pub const LIGHT: Theme = Theme {
    name: "light",
    surface: "#ffffff",
    text: "#1b1f24",
    muted: "#57606a",
    grid: "#d0d7de",
    limit: "#b42318",
    good: "#1a7f37",
    fell: "#9ecbf0",
    grew: "#f5b5ae",
    worse: "#dd4f45",
    shades: ["#eef6ff", "#f3faf0", "#fff5e6"],
    heats: ["#b7d3ea", "#8db8dd", "#619aca", "#3f7ab3", "#285a94", "#14356b"],
    series: [
        "#0067b1", "#c04f00", "#00808a", "#b5308f", "#7d6a00", "#6b3a1e", "#5f656d", "#7a3cc4",
    ],
    buckets: [
        "#1b1464", "#2b50c8", "#2f8fe6", "#35bfd0", "#128f7c", "#3fa34d", "#8ccb4a", "#c9c400",
        "#f2b705", "#f28c1c", "#e85d1f", "#cc2a20", "#94141a", "#5c0d12", "#9b1d7e", "#4d0a5e",
    ],
    amounts: [
        "#f1f7fe", "#e2effc", "#d0e5fa", "#bcd9f7", "#a5ccf3", "#8dbeef", "#74afea", "#5c9fe3",
    ],
    waits: ["#fff6ea", "#feecd3", "#fde0b9", "#fbd29c", "#f8c27e", "#f4b062", "#ef9d4a", "#e88936"],
};

/// For dark rooms.
pub const DARK: Theme = Theme {
    name: "dark",
    surface: "#14181d",
    text: "#e6edf3",
    muted: "#9da7b3",
    grid: "#363d46",
    limit: "#ff7b72",
    good: "#56d364",
    fell: "#2f6ea5",
    grew: "#96443d",
    worse: "#c2312c",
    shades: ["#16222f", "#17251c", "#2b2316"],
    heats: ["#22405e", "#2d5f8c", "#3f82b8", "#62a5d6", "#98c9ea", "#e0f1fb"],
    series: [
        "#58a6ff", "#f0883e", "#2fc9d0", "#f28fd8", "#d9bf4a", "#c9a284", "#a9b1bb", "#b08cff",
    ],
    buckets: [
        "#b9c6ff", "#7f9cff", "#3f7df0", "#3fc3e6", "#2fa38f", "#58c26a", "#a3dc58", "#d8d33a",
        "#f3bb2c", "#f28f2a", "#e86a2c", "#f24d4d", "#c4303a", "#96263c", "#d45fc0", "#9a63e0",
    ],
    amounts: [
        "#18222e", "#1a2a3c", "#1b324b", "#1c3a5a", "#1c426a", "#1b4b7b", "#1a538c", "#185c9e",
    ],
    waits: ["#241d14", "#302416", "#3c2b17", "#493217", "#563917", "#644016", "#724714", "#814e11"],
};

impl Theme {
    /// Returns the colour of a role.
    #[must_use]
    pub fn color(&self, ink: Ink) -> &'static str {
        match ink {
            Ink::Surface => self.surface,
            Ink::Text => self.text,
            Ink::Muted => self.muted,
            Ink::Grid => self.grid,
            Ink::Series(number) => self.series[usize::from(number % Ink::SERIES)],
            Ink::Bucket(number) => self.buckets[usize::from(number.min(Ink::BUCKETS - 1))],
            Ink::Shade(number) => self.shades[usize::from(number.min(Ink::SHADES - 1))],
            Ink::Amount(level) => self.amounts[usize::from(level.min(Ink::LEVELS - 1))],
            Ink::Wait(level) => self.waits[usize::from(level.min(Ink::LEVELS - 1))],
            Ink::Heat(number) => self.heats[usize::from(number.min(Ink::HEATS - 1))],
            Ink::Limit => self.limit,
            Ink::Good => self.good,
            Ink::Fell => self.fell,
            Ink::Grew => self.grew,
            Ink::Worse => self.worse,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2, definition).
    fn luminance(color: &str) -> f64 {
        let part = |at: usize| {
            let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_have_sufficient_contrast() {
        for theme in [LIGHT, DARK] {
            let behind = [Ink::Surface, Ink::Shade(0), Ink::Shade(1), Ink::Shade(2)];
            for (ink, behind) in behind.iter().flat_map(|b| [(Ink::Text, *b), (Ink::Muted, *b)]) {
                let ratio = contrast(theme.color(ink), theme.color(behind));
                assert!(ratio >= 4.5, "{} {ink:?} on {behind:?}: {ratio:.2}", theme.name);
            }
            for cell in (0..Ink::LEVELS).flat_map(|level| [Ink::Amount(level), Ink::Wait(level)]) {
                let ratio = contrast(theme.color(Ink::Text), theme.color(cell));
                assert!(ratio >= 4.5, "{} text on {cell:?}: {ratio:.2}", theme.name);
            }
            let lines = (0..Ink::SERIES).map(Ink::Series).chain([Ink::Limit, Ink::Good]);
            for ink in lines {
                let ratio = contrast(theme.color(ink), theme.surface);
                assert!(ratio >= 4.5, "{} {ink:?}: {ratio:.2}", theme.name);
            }
        }
    }

    /// Returns the colour that results when `color` covers `behind` with this opacity.
    fn over(color: &str, opacity: f64, behind: &str) -> String {
        let part = |at: usize| {
            let value =
                |color: &str| f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap());
            (value(color) * opacity + value(behind) * (1.0 - opacity)).round() as u8
        };
        format!("#{:02x}{:02x}{:02x}", part(1), part(3), part(5))
    }

    #[test]
    fn labels_have_sufficient_contrast_on_bars() {
        for theme in [LIGHT, DARK] {
            for bar in [Ink::Fell, Ink::Grew, Ink::Worse] {
                let behind = over(theme.color(bar), Ink::BAR, theme.surface);
                let ratio = contrast(theme.text, &behind);
                assert!(ratio >= 4.5, "{} {bar:?}: {ratio:.2}", theme.name);
            }
        }
    }

    /// Returns the distance of two colours as seen (Ottosson, A perceptual color space for image processing,
    /// 2020); black and white are 1 apart.
    fn distance(a: &str, b: &str) -> f64 {
        let lab = |color: &str| {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&color[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            let [red, green, blue] = [part(1), part(3), part(5)];
            let cone = |r: f64, g: f64, b: f64| (r * red + g * green + b * blue).cbrt();
            let l = cone(0.412_221_47, 0.536_332_54, 0.051_445_99);
            let m = cone(0.211_903_5, 0.680_699_55, 0.107_396_96);
            let s = cone(0.088_302_46, 0.281_718_84, 0.629_978_7);
            [
                0.210_454_26 * l + 0.793_617_79 * m - 0.004_072_05 * s,
                1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_71 * s,
                0.025_904_04 * l + 0.782_771_77 * m - 0.808_675_77 * s,
            ]
        };
        lab(a).iter().zip(lab(b)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    #[test]
    fn colors_of_one_legend_are_distinguishable() {
        assert!((distance("#000000", "#ffffff") - 1.0).abs() < 1e-3);
        let lines = (0..Ink::SERIES).map(Ink::Series).chain([Ink::Limit, Ink::Good]);
        let legends = [lines.collect::<Vec<_>>(), (0..Ink::BUCKETS).map(Ink::Bucket).collect()];
        for (theme, inks) in [LIGHT, DARK].iter().flat_map(|t| legends.iter().map(move |l| (t, l)))
        {
            for (number, ink) in inks.iter().enumerate() {
                for other in &inks[..number] {
                    let far = distance(theme.color(*ink), theme.color(*other));
                    assert!(far >= 0.065, "{} {ink:?} {other:?}: {far:.3}", theme.name);
                }
            }
        }
    }

    #[test]
    fn heat_map_shades_are_distinguishable() {
        for theme in [LIGHT, DARK] {
            let heats: Vec<&str> = (0..Ink::HEATS).map(|n| theme.color(Ink::Heat(n))).collect();
            let steps = std::iter::once(theme.surface).chain(heats.iter().copied());
            for (before, heat) in steps.zip(&heats) {
                let [far, near] = [heat, before].map(|color| contrast(color, theme.surface));
                assert!(far / near >= 1.3, "{} {before} {heat}: {far:.2} {near:.2}", theme.name);
            }
        }
    }

    #[test]
    fn ink_names_are_unique_and_alphanumeric() {
        let mut words: Vec<String> = Ink::all().map(Ink::word).collect();
        assert!(words.iter().all(|word| word.bytes().all(|b| b.is_ascii_alphanumeric())));
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
