//! Texts that keep to their place.

use super::shape::Font;

/// Tells how wide a text is.
pub(crate) trait Measure {
    /// Width in pixels of `text` set in `font`.
    fn width(&self, text: &str, font: Font) -> f64;
}

/// The first of `texts` that fits into `width`; the last one is cut with an ellipsis if it must
/// be. Unset when not even three letters of it fit.
pub(crate) fn first_fitting(
    measure: &dyn Measure,
    texts: &[String],
    font: Font,
    width: f64,
) -> Option<String> {
    for text in texts {
        if measure.width(text, font) <= width {
            return Some(text.clone());
        }
    }
    let mut letters: Vec<char> = texts.last()?.chars().collect();
    while 3 < letters.len() {
        letters.pop();
        let text: String = letters.iter().chain(std::iter::once(&'…')).collect();
        if measure.width(&text, font) <= width {
            return Some(text);
        }
    }
    None
}

/// The first of `texts` that fits into `width` as it is.
pub(crate) fn first_whole<'a>(
    measure: &dyn Measure,
    texts: &'a [String],
    font: Font,
    width: f64,
) -> Option<&'a String> {
    texts.iter().find(|text| measure.width(text, font) <= width)
}

/// Places on one picture that texts have taken already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Taken {
    boxes: Vec<[f64; 4]>,
}

impl Taken {
    /// Takes the box (left, top, width, height) if it is free.
    pub(crate) fn take(&mut self, place: [f64; 4]) -> bool {
        let is_free = self.boxes.iter().all(|taken| !overlap(taken, &place));
        if is_free {
            self.boxes.push(place);
        }
        is_free
    }

    /// Takes the box, free or not.
    pub(crate) fn hold(&mut self, place: [f64; 4]) {
        self.boxes.push(place);
    }
}

fn overlap(a: &[f64; 4], b: &[f64; 4]) -> bool {
    let [ax, ay, aw, ah] = a;
    let [bx, by, bw, bh] = b;
    *ax < bx + bw && *bx < ax + aw && *ay < by + bh && *by < ay + ah
}
