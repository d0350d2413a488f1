//! A narrow screen, in both languages: nothing is wider than it, and every text is there.

use anyhow::{Result, ensure};
use support::{Locale, Theme, View, Width, journey};

#[test]
fn pages_fit_a_narrow_screen_and_have_their_texts() -> Result<()> {
    journey("narrow", View::DEFAULT, async |page| {
        for locale in [Locale::English, Locale::Chinese] {
            page.look_as(View {
                theme: Theme::Dark,
                width: Width::Narrow,
                locale,
            })
            .await?;
            for route in [
                "",
                "#/lesson/the-barrier",
                "#/lesson/wait-and-crash",
                "#/lesson/short-pause-long-pause",
                "#/sandbox",
            ] {
                page.open_ready(route).await?;
                let wide: Vec<String> = page.run(WIDE).await?;
                ensure!(
                    wide.is_empty(),
                    "wider than the screen at {route:?}: {wide:?}"
                );
                let keys: Vec<String> = page.run(KEYS).await?;
                ensure!(
                    keys.is_empty(),
                    "keys instead of texts at {route:?}: {keys:?}"
                );
            }
        }
        Ok(())
    })
}

/// What the page is made of, if it reaches beyond the right edge. (The tabs scroll on purpose.)
const WIDE: &str = r"
return [...document.querySelectorAll('header, main, main > *, .transport')]
  .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1)
  .map((element) => element.tagName + '.' + element.className);
";

/// Words that look like keys of texts.
const KEYS: &str = r"
return document.body.innerText.split(/\s+/)
  .filter((word) => /^(lesson|map|nav|home|inspect|faults|stage|lesson-page)\.[a-z-]+/.test(word));
";
