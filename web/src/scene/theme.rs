//! Colours, light and dark.

/// Which theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ThemeName {
    /// Dark ink on light paper.
    #[default]
    Light,
    /// Light ink on dark paper.
    Dark,
}

/// A colour by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Ink {
    /// The page.
    Bg,
    /// A card on the page.
    Panel,
    /// A hollow in the page.
    Sunk,
    /// Text.
    Text,
    /// Quieter text.
    Mute,
    /// The quietest text and axes.
    Faint,
    /// Borders.
    Line,
    /// Grids.
    Hair,
    /// What is chosen, coordinates or opens.
    Accent,
    /// Paper under accent.
    AccentSoft,
    /// What waits.
    Warn,
    /// Loss and errors, nothing else.
    Loss,
    /// A partition.
    Hue(u8),
    /// Text upon a partition's hue.
    OnHue(u8),
    /// Hatching: stands still.
    Hatch,
    /// The stripes of a hatching.
    HatchStripe,
    /// Halo around what is chosen.
    Glow,
}

/// How many partition hues there are; they repeat after that.
pub(crate) const HUES: u32 = 8;

impl ThemeName {
    /// The colour as CSS writes it.
    pub(crate) const fn css(self, ink: Ink) -> &'static str {
        match self {
            Self::Light => light(ink),
            Self::Dark => dark(ink),
        }
    }
}

const fn light(ink: Ink) -> &'static str {
    match ink {
        Ink::Bg => "#f6f6f3",
        Ink::Panel => "#ffffff",
        Ink::Sunk | Ink::Hatch => "#f0f0ec",
        Ink::Text => "#1c2328",
        Ink::Mute => "#5d6871",
        Ink::Faint => "#8d979e",
        Ink::Line => "#dfe1dc",
        Ink::Hair => "#eceeea",
        Ink::Accent => "#0a6e6a",
        Ink::AccentSoft => "#dcefed",
        Ink::Warn => "#946300",
        Ink::Loss => "#b3261e",
        Ink::HatchStripe => "#cfd1ce",
        Ink::Glow => "rgba(10,110,106,.14)",
        Ink::Hue(hue) => match hue % 8 {
            0 => "#1f6fb4",
            1 => "#d98a00",
            2 => "#17805e",
            3 => "#b2528f",
            4 => "#4aa3d8",
            5 => "#7d62ad",
            6 => "#767200",
            _ => "#6b6b6b",
        },
        Ink::OnHue(hue) => match hue % 8 {
            1 | 4 => "#1c2328",
            _ => "#ffffff",
        },
    }
}

const fn dark(ink: Ink) -> &'static str {
    match ink {
        Ink::Bg | Ink::OnHue(_) => "#0e1215",
        Ink::Panel => "#14191d",
        Ink::Sunk | Ink::Hatch => "#0f1417",
        Ink::Text => "#e7ebee",
        Ink::Mute => "#9aa6af",
        Ink::Faint => "#6d7982",
        Ink::Line => "#273037",
        Ink::Hair => "#1d252b",
        Ink::Accent => "#4fc2ba",
        Ink::AccentSoft => "#123331",
        Ink::Warn => "#e3b341",
        Ink::Loss => "#ff7b72",
        Ink::HatchStripe => "#3a4045",
        Ink::Glow => "rgba(79,194,186,.16)",
        Ink::Hue(hue) => match hue % 8 {
            0 => "#5aa5e6",
            1 => "#eda63a",
            2 => "#47bd94",
            3 => "#d985b8",
            4 => "#7cc4ee",
            5 => "#a58bd4",
            6 => "#bdb73f",
            _ => "#9a9a9a",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Ink, ThemeName};

    fn luminance(css: &str) -> f64 {
        let channel = |place: usize| {
            let value = f64::from(u8::from_str_radix(&css[place..place + 2], 16).unwrap()) / 255.0;
            if value <= 0.039_28 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(theme: ThemeName, front: Ink, back: Ink) -> f64 {
        let (a, b) = (luminance(theme.css(front)), luminance(theme.css(back)));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_has_the_contrast_of_wcag_aa_on_every_paper() {
        for theme in [ThemeName::Light, ThemeName::Dark] {
            for back in [Ink::Bg, Ink::Panel, Ink::Sunk] {
                for front in [Ink::Text, Ink::Mute, Ink::Accent, Ink::Warn, Ink::Loss] {
                    let ratio = contrast(theme, front, back);
                    assert!(
                        4.5 <= ratio,
                        "{theme:?}: {front:?} on {back:?} has {ratio:.2}"
                    );
                }
            }
            let ratio = contrast(theme, Ink::Accent, Ink::AccentSoft);
            assert!(
                4.5 <= ratio,
                "{theme:?}: accent on its paper has {ratio:.2}"
            );
            for hue in 0..8 {
                let ratio = contrast(theme, Ink::OnHue(hue), Ink::Hue(hue));
                assert!(4.5 <= ratio, "{theme:?}: text on hue {hue} has {ratio:.2}");
            }
        }
    }
}
