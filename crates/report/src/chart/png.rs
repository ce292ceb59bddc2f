//! Scenes as PNG.

use super::ink::Theme;
use super::scene::Scene;
use super::svg;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::sync::{Arc, LazyLock};

/// The faces of all letters, so that a picture is the same on every machine, those without any font included.
const FACES: [&[u8]; 2] = [
    include_bytes!("font/DejaVuSans-subset.ttf"),
    include_bytes!("font/DejaVuSans-Bold-subset.ttf"),
];
/// Its family.
const FAMILY: &str = "DejaVu Sans";
/// More pixels are of no use to anybody.
const MOST_PIXELS: f64 = 64e6;

static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    for face in FACES {
        fonts.load_font_data(face.to_vec());
    }
    fonts.set_sans_serif_family(FAMILY);
    Arc::new(fonts)
});

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// It would be empty, or too large to be of use.
    #[error("a picture of {width:.0}×{height:.0} pixels cannot be made")]
    Size {
        /// Pixels across.
        width: f64,
        /// Pixels down.
        height: f64,
    },
    /// The drawing is no SVG that can be drawn.
    #[error("the drawing cannot be read: {0}")]
    Drawing(#[from] resvg::usvg::Error),
    /// It cannot be written as PNG.
    #[error("the picture cannot be written: {0}")]
    Encoding(String),
}

/// A picture of `scale` pixels for each unit of the scene. Takes some milliseconds for a panel.
///
/// # Errors
/// Where there is nothing to draw, or too much.
pub fn render(scene: &Scene, theme: Theme, title: &str, scale: f64) -> Result<Vec<u8>, PngError> {
    let (width, height) = (scene.width * scale, (scene.height + svg::HEADING) * scale);
    let too_large = width * height > MOST_PIXELS;
    let pixmap = Pixmap::new(width.ceil() as u32, height.ceil() as u32).filter(|_| !too_large);
    let mut pixmap = pixmap.ok_or(PngError::Size { width, height })?;
    let options =
        Options { fontdb: FONTS.clone(), font_family: FAMILY.to_owned(), ..Options::default() };
    let tree = Tree::from_str(&svg::file(scene, theme, title, ""), &options)?;
    resvg::render(&tree, Transform::from_scale(scale as f32, scale as f32), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
}
