//! CSV rows that a spreadsheet reads as text and numbers only.

use ::csv::{Error, Writer};
use iogauge_model::plain_text::csv_cell;
use std::io::{self, Write};

/// Writes CSV. An apostrophe is put before text that a spreadsheet would read as a formula.
pub(crate) struct Rows<W: Write>(Writer<W>);

impl<W: Write> Rows<W> {
    pub(crate) fn new(writer: W) -> Self {
        Self(Writer::from_writer(writer))
    }

    pub(crate) fn write_record<C: AsRef<str>>(
        &mut self,
        cells: impl IntoIterator<Item = C>,
    ) -> Result<(), Error> {
        for cell in cells {
            self.0.write_field(csv_cell(cell.as_ref()).as_bytes())?;
        }
        // Ends the row.
        self.0.write_record(None::<&[u8]>)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_formulas_are_escaped() {
        let mut table = Vec::new();
        let mut rows = Rows::new(&mut table);
        rows.write_record(["target", "iops"]).unwrap();
        rows.write_record(["=HYPERLINK(\"x\")", "-1.5"]).unwrap();
        rows.flush().unwrap();
        drop(rows);
        let text = String::from_utf8(table).unwrap();
        assert_eq!(text, "target,iops\n\"'=HYPERLINK(\"\"x\"\")\",-1.5\n");
    }
}
