//! `--via`: the program that does the I/O.

use iogauge_lab::LabError;
use iogauge_lab::fio::FioBinary;
use std::path::PathBuf;
use std::str::FromStr;

/// fio as typed: `fio`, of `$PATH`, or `fio=BINARY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViaArg {
    binary: PathBuf,
}

impl Default for ViaArg {
    fn default() -> Self {
        Self { binary: PathBuf::from("fio") }
    }
}

impl FromStr for ViaArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "fio" => Ok(Self::default()),
            Some(("fio", path)) if !path.is_empty() => Ok(Self { binary: PathBuf::from(path) }),
            _ => Err(format!(
                "\"{text}\" is not a program that can do the I/O; hint: use fio, or fio=BINARY"
            )),
        }
    }
}

impl ViaArg {
    /// The program itself, with its version.
    ///
    /// # Errors
    /// Where it does not start, or is not fio.
    pub fn find(&self) -> Result<FioBinary, LabError> {
        Ok(FioBinary::find(&self.binary)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn via_accepts_only_fio() {
        assert_eq!("fio".parse(), Ok(ViaArg::default()));
        assert_eq!("fio=/a=b".parse(), Ok(ViaArg { binary: PathBuf::from("/a=b") }));
        for wrong in ["", "fio=", "dd", "/usr/bin/fio", "dd=/usr/bin/fio"] {
            assert!(wrong.parse::<ViaArg>().unwrap_err().contains("fio=BINARY"), "{wrong}");
        }
    }
}
