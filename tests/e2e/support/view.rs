//! How a visitor sees the page: width, theme, language.

use std::fmt;

/// One way to look at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// The window's width.
    pub width: Width,
    /// What the system's settings ask for.
    pub theme: Theme,
    /// The page's language.
    pub locale: Locale,
}

/// The window's width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// A desktop window of 1400 x 900.
    Wide,
    /// A phone of 390 x 844 with touch.
    Narrow,
}

/// What the system's settings ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// The page's language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locale {
    /// English.
    English,
    /// Simplified Chinese.
    Chinese,
}

impl View {
    /// A desktop window, light, in English.
    pub const DEFAULT: Self = Self {
        width: Width::Wide,
        theme: Theme::Light,
        locale: Locale::English,
    };

    /// Every view that pictures are taken of.
    pub fn all() -> Vec<Self> {
        let mut views = Vec::new();
        for width in [Width::Wide, Width::Narrow] {
            for theme in [Theme::Light, Theme::Dark] {
                for locale in [Locale::English, Locale::Chinese] {
                    views.push(Self {
                        width,
                        theme,
                        locale,
                    });
                }
            }
        }
        views
    }
}

impl Default for View {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for View {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{}-{}-{}",
            self.theme.name(),
            self.width.pixels(),
            self.locale.short()
        )
    }
}

impl Width {
    /// Width in CSS pixels.
    pub fn pixels(self) -> u32 {
        match self {
            Self::Wide => 1400,
            Self::Narrow => 390,
        }
    }

    /// Height in CSS pixels.
    pub fn height(self) -> u32 {
        match self {
            Self::Wide => 900,
            Self::Narrow => 844,
        }
    }

    /// True for a phone.
    pub fn is_phone(self) -> bool {
        self == Self::Narrow
    }
}

impl Theme {
    /// The value of `prefers-color-scheme`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl Locale {
    /// The value of the page's `lang`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-CN",
        }
    }

    fn short(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_have_names_for_files() {
        let names: Vec<String> = View::all().iter().map(View::to_string).collect();
        assert_eq!(names[0], "light-1400-en", "first");
        assert_eq!(names[7], "dark-390-zh", "last");
        assert_eq!(names.len(), 8, "all");
    }
}
