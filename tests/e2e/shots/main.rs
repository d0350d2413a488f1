//! Takes pictures of routes of the page in every view: `shots [ROUTE…]`, run by `cargo xtask shots`.

use std::io::Write;

use anyhow::Result;
use support::{Page, View, with_page};

fn main() -> Result<()> {
    let mut routes: Vec<String> = std::env::args().skip(1).collect();
    if routes.is_empty() {
        routes.push(String::new());
    }
    with_page(View::DEFAULT, async |page| take_all(page, &routes).await)
}

async fn take_all(page: &Page, routes: &[String]) -> Result<()> {
    for view in View::all() {
        page.look_as(view).await?;
        for route in routes {
            let ready = page.open_ready(route).await;
            let file = page.picture(&format!("{}-{view}", name(route))).await?;
            let remark = if ready.is_ok() {
                ""
            } else {
                " (not ready within 10 s)"
            };
            writeln!(std::io::stdout(), "{}{remark}", file.display())?;
            for complaint in page.complaints().await? {
                writeln!(std::io::stdout(), "  {complaint}")?;
            }
        }
    }
    Ok(())
}

/// A route as the beginning of a file's name.
fn name(route: &str) -> String {
    let words = route.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        "home".to_owned()
    } else {
        words.join("-")
    }
}
