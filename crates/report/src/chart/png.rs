//! Scenes as PNG.

use super::ink::Theme;
use super::scene::Scene;
use super::svg;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, LazyLock};

/// The only fonts, so that a picture is the same on every machine, including those without fonts.
const FACES: [&[u8]; 2] = [
    include_bytes!("font/DejaVuSans-subset.ttf"),
    include_bytes!("font/DejaVuSans-Bold-subset.ttf"),
];
const FAMILY: &str = "DejaVu Sans";
/// Maximum number of pixels. Larger pictures are useless.
const MOST_PIXELS: f64 = 64e6;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    for face in FACES {
        fonts.load_font_data(face.to_vec());
    }
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Why a picture could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The picture would be empty or too large.
    #[error("a picture of {width:.0}×{height:.0} pixels cannot be made")]
    Size {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
    },
    /// The SVG cannot be drawn.
    #[error("the drawing cannot be read: {0}")]
    Drawing(#[from] resvg::usvg::Error),
    /// The picture cannot be encoded as PNG.
    #[error("the picture cannot be written: {0}")]
    Encoding(String),
}

/// Renders a picture with `scale` pixels per unit of the scene. This takes a few milliseconds for a panel.
///
/// # Errors
/// Fails if the picture is empty or too large.
pub fn render(scene: &Scene, theme: Theme, title: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let [width, height] = svg::size(scene).map(|side| side * scale);
    let too_large = width * height > MOST_PIXELS;
    let pixmap = Pixmap::new(width.ceil() as u32, height.ceil() as u32).filter(|_| !too_large);
    let mut pixmap = pixmap.ok_or(PngError::Size { width, height })?;
    let options =
        Options { fontdb: FONTS.clone(), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(&svg::file(scene, theme, title, ""), &options)?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixmap.as_mut());
    let png = pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))?;
    Ok(signed(png))
}

/// Size of the signature and of the chunk `IHDR`, which comes first.
const PNG_HEAD_BYTES: usize = 33;

/// Inserts a chunk `tEXt` that names the program after the header (PNG, third edition, 5.3 and 11.3.3.2),
/// so that a later report may replace the file.
fn signed(mut png: Vec<u8>) -> Vec<u8> {
    let chunk = b"tEXtSoftware\0iogauge";
    // The length covers the data without the four letters of the type.
    let length_bytes = chunk.len() as u32 - 4;
    let parts = [&length_bytes.to_be_bytes()[..], chunk, &crc32(chunk).to_be_bytes()[..]];
    let at = PNG_HEAD_BYTES.min(png.len());
    png.splice(at..at, parts.concat());
    png
}

/// Returns the checksum of a chunk (PNG, third edition, 5.5). It works bit by bit, because chunks here have
/// only a few bytes.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { 0xedb8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn png_chunk_has_a_valid_crc32() {
        // The check value of CRC-32.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        let png = signed(vec![0; PNG_HEAD_BYTES]);
        assert_eq!(&png[33..37], 16_u32.to_be_bytes());
        assert_eq!(&png[37..57], b"tEXtSoftware\0iogauge");
        assert_eq!(png.len(), 33 + 4 + 20 + 4);
    }
}
