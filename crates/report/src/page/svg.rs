//! Goal: a drawing as text: small, escaped, and nothing outside of its frame.
//!
//! Boxes are paths, which take the fewest characters, and are cut at the frame.
//!
//! Cost: linear. Source: SVG 1.1, as HTML 5 embeds it.

use std::fmt::{self, Write};

/// A drawing that is being written.
pub struct Svg {
    out: String,
    width: f64,
    height: f64,
}

impl Svg {
    /// An empty one, with what it shows for those who do not see it.
    pub fn new(class: &str, width: f64, height: f64, label: &str) -> Svg {
        let mut out = String::new();
        let (w, h) = (Short(width), Short(height));
        let _ = write!(
            out,
            "<svg class=\"{}\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" aria-label=\"{}\">",
            Escaped(class),
            Escaped(label)
        );
        Svg { out, width, height }
    }

    /// A box, cut at the frame; nothing where nothing of it is inside.
    pub fn block(&mut self, class: &str, x: f64, y: f64, width: f64, height: f64) {
        let (left, top) = (x.clamp(0.0, self.width), y.clamp(0.0, self.height));
        let (right, bottom) = ((x + width).clamp(0.0, self.width), (y + height).clamp(0.0, self.height));
        if right > left && bottom > top {
            let (w, h) = (Short(right - left), Short(bottom - top));
            let _ = write!(
                self.out,
                "<path class=\"{class}\" d=\"M{} {}h{w}v{h}h-{w}z\"/>",
                Short(left),
                Short(top)
            );
        }
    }

    /// Anything along a path of which the caller knows that it stays inside.
    pub fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.out, "<path class=\"{class}\" d=\"{d}\"/>");
    }

    /// Text that starts at a place.
    pub fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\">{}</text>",
            Short(x),
            Short(y),
            Escaped(text)
        );
    }

    /// What follows belongs together and has a title, until [`close`](Svg::close).
    pub fn open(&mut self, title: &str) {
        let _ = write!(self.out, "<g><title>{}</title>", Escaped(title));
    }

    /// The end of what belongs together.
    pub fn close(&mut self) {
        self.out.push_str("</g>");
    }

    /// The whole drawing.
    pub fn finish(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }
}

/// A number with one digit behind the point, or none.
pub struct Short(pub f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        match tenths % 10 {
            0 => write!(f, "{}", tenths / 10),
            _ => write!(f, "{:.1}", tenths as f64 / 10.0),
        }
    }
}

/// Text that may have any characters.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                _ => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let short: Vec<String> = [0.0, 1.0, 2.54, 10.96, 0.04].map(|n| Short(n).to_string()).into();
        assert_eq!(short, ["0", "1", "2.5", "11", "0"]);
    }

    #[test]
    fn blocks_stay_inside_and_text_is_escaped() {
        let mut svg = Svg::new("t", 100.0, 20.0, "<a & \"b\">");
        svg.block("i", 90.0, 10.0, 50.0, 50.0);
        svg.block("i", 101.0, 0.0, 5.0, 5.0);
        svg.open("'<'");
        svg.text("x", 1.0, 2.0, "</svg>");
        svg.close();
        let text = svg.finish();
        assert!(text.contains("aria-label=\"&lt;a &amp; &quot;b&quot;&gt;\""), "{text}");
        assert_eq!(text.matches("<path").count(), 1, "{text}");
        assert!(text.contains("M90 10h10v10h-10z"), "{text}");
        assert!(
            text.contains("<title>&#39;&lt;&#39;</title>") && text.matches("</svg>").count() == 1,
            "{text}"
        );
    }
}
