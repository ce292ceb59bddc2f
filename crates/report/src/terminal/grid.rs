//! Tables with aligned columns that fit the page.

use super::sheet::{Paint, Sheet, clean, cut, cut_behind_word};
use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use unicode_width::UnicodeWidthStr;

const GAP: usize = 2;
/// Text cut to less than this width is meaningless.
const NARROWEST_TEXT: usize = 12;
/// A sentence cut to less than this width may lose its first figure.
const NARROWEST_SENTENCE: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Right-aligned, never cut.
    Number,
    /// Like [`Self::Number`], but dropped if the table is too wide for the page, the lowest rank first.
    Spare(u8),
    /// Left-aligned, never cut.
    Word,
    /// Like [`Self::Word`], but dropped like [`Self::Spare`].
    SpareWord(u8),
    /// Left-aligned; its end is cut on a narrow page.
    Text,
    /// Left-aligned; its beginning is cut on a narrow page.
    Path,
    /// Left-aligned; its end is cut, behind a word, after all texts and paths.
    Sentence,
}

impl Kind {
    /// Returns the width below which a column is not cut; `None` if it is never cut.
    fn least(self) -> Option<usize> {
        match self {
            Self::Text | Self::Path => Some(NARROWEST_TEXT),
            Self::Sentence => Some(NARROWEST_SENTENCE),
            Self::Number | Self::Spare(_) | Self::Word | Self::SpareWord(_) => None,
        }
    }

    fn cut(self, cell: &str, width: usize) -> String {
        match self {
            Self::Sentence => cut_behind_word(cell, width),
            kind => cut(cell, width, kind == Self::Path),
        }
    }
}

struct Column {
    title: String,
    kind: Kind,
}

/// A table. The first column identifies the rows and is repeated if the table continues below. Columns that
/// are empty in every row are dropped, and spare ones until the table fits.
pub(super) struct Grid {
    columns: Vec<Column>,
    rows: Vec<(Paint, Vec<String>)>,
}

impl Grid {
    pub(super) fn new(columns: &[(&'static str, Kind)]) -> Self {
        Self::titled(columns.iter().map(|(title, kind)| ((*title).to_owned(), *kind)))
    }

    /// Creates a table whose titles are known only at run time.
    pub(super) fn titled(columns: impl IntoIterator<Item = (String, Kind)>) -> Self {
        let column = |(title, kind): (String, Kind)| Column { title: clean(&title), kind };
        Self { columns: columns.into_iter().map(column).collect(), rows: Vec::new() }
    }

    /// Adds a row with a cell for each column.
    pub(super) fn row<const N: usize>(&mut self, paint: Paint, cells: [String; N]) {
        self.row_of(paint, &cells);
    }

    /// Adds a row whose length is known only at run time.
    pub(super) fn row_of(&mut self, paint: Paint, cells: &[String]) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push((paint, cells.iter().map(|cell| clean(cell)).collect()));
    }

    pub(super) fn write(self, sheet: &mut Sheet) {
        let mut shown: Vec<usize> = (0..self.columns.len())
            .filter(|column| {
                *column == 0 || self.rows.iter().any(|(_, cells)| !cells[*column].is_empty())
            })
            .collect();
        let mut spare: Vec<(u8, usize)> = shown.iter().filter_map(|c| self.rank(*c)).collect();
        spare.sort_unstable();
        for (_, column) in spare {
            if self.least_width(&shown) > sheet.columns() {
                shown.retain(|other| *other != column);
            }
        }
        let widths = self.fit(&shown, sheet.columns());
        for (number, band) in self.bands(&shown, &widths, sheet.columns()).iter_mut().enumerate() {
            if number > 0 {
                sheet.gap();
            }
            self.widen(band, sheet.columns());
            self.write_band(band, sheet);
        }
    }

    /// Gives cut columns the space that a band leaves, first to sentences. The first column keeps its width, which it
    /// has in all bands.
    fn widen(&self, band: &mut [(usize, usize)], page: usize) {
        let used = band.iter().map(|(_, width)| width + GAP).sum::<usize>();
        let mut free = (page + GAP).saturating_sub(used);
        let mut order: Vec<usize> = (1..band.len()).collect();
        order.sort_by_key(|place| self.columns[band[*place].0].kind != Kind::Sentence);
        for place in order {
            let (column, width) = &mut band[place];
            let more = self.natural(*column).saturating_sub(*width).min(free);
            (*width, free) = (*width + more, free - more);
        }
    }

    /// Returns the width of each shown column: that of its contents, except that the widest text columns
    /// are narrowed until the table fits, and sentences after them.
    fn fit(&self, shown: &[usize], page: usize) -> Vec<usize> {
        // With this maximum, any two columns fit on the page.
        let most = (page - GAP) / 2;
        let mut widths: Vec<usize> = shown.iter().map(|column| self.natural(*column)).collect();
        let gaps = GAP * shown.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > page {
            let widest = (0..shown.len())
                .filter(|i| self.least(shown[*i]).is_some_and(|least| widths[*i] > least))
                .max_by_key(|i| (self.columns[shown[*i]].kind != Kind::Sentence, widths[*i]));
            match widest {
                Some(column) => widths[column] -= 1,
                None => {
                    widths.iter_mut().for_each(|width| *width = (*width).min(most));
                    break;
                }
            }
        }
        widths
    }

    /// Returns the width of a column without cuts.
    fn natural(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|(_, cells)| cells[column].width());
        cells.chain([self.columns[column].title.width()]).max().unwrap_or(0)
    }

    /// Returns the rank and the index of a spare column.
    fn rank(&self, column: usize) -> Option<(u8, usize)> {
        match self.columns[column].kind {
            Kind::Spare(rank) | Kind::SpareWord(rank) => Some((rank, column)),
            _ => None,
        }
    }

    fn least(&self, column: usize) -> Option<usize> {
        self.columns[column].kind.least()
    }

    /// Returns the width of the table with its texts cut as far as allowed.
    fn least_width(&self, shown: &[usize]) -> usize {
        let least = |column: &usize| {
            let width = self.natural(*column);
            self.least(*column).map_or(width, |least| width.min(least))
        };
        shown.iter().map(least).sum::<usize>() + GAP * shown.len().saturating_sub(1)
    }

    /// Splits the columns into bands, each with as many columns as fit next to each other, and their widths. If there
    /// are several, a sentence that would be cut has its own.
    fn bands(&self, shown: &[usize], widths: &[usize], page: usize) -> Vec<Vec<(usize, usize)>> {
        let is_one = widths.iter().map(|width| width + GAP).sum::<usize>() <= page + GAP;
        let mut bands = Vec::new();
        let mut band = Vec::new();
        let mut used = 0;
        for (column, width) in shown.iter().zip(widths) {
            let is_sentence = self.columns[*column].kind == Kind::Sentence;
            let is_cut = is_sentence && !is_one && *width < self.natural(*column);
            if band.len() > 1 && (is_cut || used + GAP + width > page) {
                bands.push(std::mem::take(&mut band));
            }
            if band.is_empty() && !bands.is_empty() {
                band.push((shown[0], widths[0]));
                used = widths[0];
            }
            used += width + if band.is_empty() { 0 } else { GAP };
            band.push((*column, *width));
        }
        bands.push(band);
        bands
    }

    fn write_band(&self, band: &[(usize, usize)], sheet: &mut Sheet) {
        let rule = LineStyle::none().fill('─');
        let mut table = Table::new();
        table
            .load_style(TableStyle::new().header_separator(rule))
            .set_content_arrangement(ContentArrangement::Disabled);
        let cell = |column: usize, text: &str| {
            let right = matches!(self.columns[column].kind, Kind::Number | Kind::Spare(_));
            let side = if right { CellAlignment::Right } else { CellAlignment::Left };
            Cell::new(text).set_alignment(side)
        };
        let titles = band.iter().map(|(column, width)| {
            cell(*column, &cut(&self.columns[*column].title, *width, false))
        });
        table.set_header(titles);
        for (_, cells) in &self.rows {
            let cells = band.iter().map(|(column, width)| {
                cell(*column, &self.columns[*column].kind.cut(&cells[*column], *width))
            });
            table.add_row(cells);
        }
        for (place, column) in table.column_iter_mut().enumerate() {
            let gap = if place + 1 == band.len() { 0 } else { GAP as u16 };
            column.set_padding((0, gap));
        }
        for (number, line) in table.lines().enumerate() {
            // The header and the rule below it precede the rows.
            let paint = match number {
                0 => Paint::Strong,
                1 => Paint::Plain,
                row => self.rows.get(row - 2).map_or(Paint::Plain, |(paint, _)| *paint),
            };
            sheet.line(paint, line.trim_end());
        }
    }
}
