//! The page in a browser: going somewhere, waiting, acting, looking.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use thirtyfour::common::capabilities::chromium::ChromiumLikeCapabilities;
use thirtyfour::common::log::LoggingPrefsLogLevel;
use thirtyfour::prelude::{By, DesiredCapabilities, WebDriver, WebElement};

use crate::axe::{self, Violation};
use crate::place::Place;
use crate::view::View;

/// A browser with the page in it.
#[derive(Debug)]
pub struct Page {
    /// The browser, for what the methods here do not cover.
    pub driver: WebDriver,
    place: Place,
    view: Cell<View>,
}

impl Page {
    pub(crate) async fn start(place: Place, view: View) -> Result<Self> {
        let mut wishes = DesiredCapabilities::chrome();
        wishes.set_binary(&place.chrome)?;
        wishes.set_browser_log_level(LoggingPrefsLogLevel::All)?;
        for flag in FLAGS {
            wishes.add_arg(flag)?;
        }
        let driver = WebDriver::new(&place.driver, wishes)
            .await
            .context("no browser")?;
        driver.set_script_timeout(Duration::from_secs(60)).await?;
        let page = Self {
            driver,
            place,
            view: Cell::new(view),
        };
        page.look_as(view).await?;
        Ok(page)
    }

    pub(crate) async fn close(self) -> Result<()> {
        Ok(self.driver.quit().await?)
    }

    /// Changes width and theme at once, the language with the next [`Self::open`].
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn look_as(&self, view: View) -> Result<()> {
        self.view.set(view);
        let phone = view.width.is_phone();
        let metrics = json!({
            "width": view.width.pixels(), "height": view.width.height(),
            "deviceScaleFactor": if phone { 2 } else { 1 }, "mobile": phone,
        });
        self.cdp("Emulation.setDeviceMetricsOverride", metrics)
            .await?;
        let touch = json!({ "enabled": phone, "maxTouchPoints": if phone { 5 } else { 1 } });
        self.cdp("Emulation.setTouchEmulationEnabled", touch)
            .await?;
        let theme = json!({ "name": "prefers-color-scheme", "value": view.theme.name() });
        self.cdp("Emulation.setEmulatedMedia", json!({ "features": [theme] }))
            .await?;
        Ok(())
    }

    /// Has answers take longer, and the machine be so many times slower.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn slow_down(&self, latency_ms: u32, slowness: u32) -> Result<()> {
        let network = json!({
            "offline": false, "latency": latency_ms,
            "downloadThroughput": -1, "uploadThroughput": -1,
        });
        self.cdp("Network.emulateNetworkConditions", network)
            .await?;
        let rate = json!({ "rate": slowness });
        self.cdp("Emulation.setCPUThrottlingRate", rate).await?;
        Ok(())
    }

    /// Opens a route like `#/lesson/barrier` afresh, in the view's language.
    ///
    /// # Errors
    /// When the browser cannot load it.
    pub async fn open(&self, route: &str) -> Result<()> {
        // The same address but for its hash would not be loaded again.
        self.driver.goto("about:blank").await?;
        let address = format!(
            "{}?lang={}{route}",
            self.place.site,
            self.view.get().locale.tag()
        );
        self.driver
            .goto(&address)
            .await
            .with_context(|| format!("cannot open {address}"))
    }

    /// Opens a route and waits until the page says that it is ready.
    ///
    /// # Errors
    /// When it cannot be loaded, or is not ready within ten seconds.
    pub async fn open_ready(&self, route: &str) -> Result<()> {
        self.open(route).await?;
        self.wait_until("the page is ready", READY, SOON).await
    }

    /// Opens a route and waits until the page stands, however slow the machine is made.
    ///
    /// # Errors
    /// When it cannot be loaded, or is not ready within the limit.
    pub async fn open_slowly(&self, route: &str, limit: Duration) -> Result<()> {
        self.open(route).await?;
        self.wait_until("the page is ready", READY, limit).await
    }

    /// Waits until an expression in JavaScript is true.
    ///
    /// # Errors
    /// When it is not true by the deadline; `what` says what was waited for.
    pub async fn wait_until(&self, what: &str, condition: &str, limit: Duration) -> Result<()> {
        let started = Instant::now();
        loop {
            let script = format!("return Boolean({condition});");
            if self.run::<bool>(&script).await? {
                return Ok(());
            }
            ensure!(started.elapsed() < limit, "not so within {limit:?}: {what}");
            tokio::time::sleep(TICK).await;
        }
    }

    /// Waits for an element that fits a CSS selector and is shown.
    ///
    /// # Errors
    /// When there is none within ten seconds.
    pub async fn find(&self, css: &str) -> Result<WebElement> {
        let started = Instant::now();
        loop {
            for element in self.driver.find_all(By::Css(css)).await? {
                if element.is_displayed().await.unwrap_or(false) {
                    return Ok(element);
                }
            }
            ensure!(
                started.elapsed() < SOON,
                "nothing to see within {SOON:?}: {css}"
            );
            tokio::time::sleep(TICK).await;
        }
    }

    /// Clicks the element that fits a CSS selector, once it is shown.
    ///
    /// # Errors
    /// When it does not show, or something covers it.
    pub async fn click(&self, css: &str) -> Result<()> {
        let element = self.find(css).await?;
        element.scroll_into_view().await?;
        element
            .click()
            .await
            .with_context(|| format!("cannot click {css}"))
    }

    /// Clicks a shown button or link by its text or its accessible name.
    ///
    /// # Errors
    /// When there is none within ten seconds.
    pub async fn click_named(&self, name: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            let found: Value = self.run_with(FIND_NAMED, vec![json!(name)]).await?;
            if found == json!(true) {
                return self.click("[data-e2e-found]").await;
            }
            ensure!(
                started.elapsed() < SOON,
                "no button or link within {SOON:?}: {name}"
            );
            tokio::time::sleep(TICK).await;
        }
    }

    /// The text that an element shows.
    ///
    /// # Errors
    /// When it does not show within ten seconds.
    pub async fn text(&self, css: &str) -> Result<String> {
        Ok(self.find(css).await?.text().await?)
    }

    /// Waits until an element's text contains some words.
    ///
    /// # Errors
    /// When it does not by the deadline; says what it shows instead.
    pub async fn wait_for_text(&self, css: &str, words: &str, limit: Duration) -> Result<()> {
        let started = Instant::now();
        loop {
            let shown = self.text(css).await?;
            if shown.contains(words) {
                return Ok(());
            }
            ensure!(
                started.elapsed() < limit,
                "{css} says {shown:?}, not {words:?}"
            );
            tokio::time::sleep(TICK).await;
        }
    }

    /// Presses keys one after the other, wherever the focus is: `"Tab"`, `"Enter"`, `" "`, `"a"`,
    /// by the names of `KeyboardEvent.key`.
    ///
    /// # Errors
    /// When the browser refuses, or a name is unknown.
    pub async fn press(&self, keys: &[&str]) -> Result<()> {
        for key in keys {
            let (name, modifiers) = match key.strip_prefix("Shift+") {
                Some(name) => (name, 8),
                None => (*key, 0),
            };
            let (code, number, text) = key_data(name)?;
            let event = |kind: &str| {
                json!({
                    "type": kind, "key": name, "code": code, "modifiers": modifiers,
                    "windowsVirtualKeyCode": number, "text": text,
                })
            };
            let down = if text.is_empty() {
                "rawKeyDown"
            } else {
                "keyDown"
            };
            self.cdp("Input.dispatchKeyEvent", event(down)).await?;
            self.cdp("Input.dispatchKeyEvent", event("keyUp")).await?;
        }
        Ok(())
    }

    /// The accessible name or text of what has the focus.
    ///
    /// # Errors
    /// When the browser cannot be reached.
    pub async fn focused(&self) -> Result<String> {
        self.run(FOCUSED).await
    }

    /// Presses Tab until the focus is on something of that name.
    ///
    /// # Errors
    /// When it is not reached by a hundred presses.
    pub async fn tab_to(&self, name: &str) -> Result<()> {
        let mut passed = Vec::new();
        for _ in 0..100 {
            self.press(&["Tab"]).await?;
            let focused = self.focused().await?;
            if focused == name {
                return Ok(());
            }
            passed.push(focused);
        }
        passed.dedup();
        bail!("Tab never came to {name:?}, but to {passed:?}")
    }

    /// Runs a script's body and converts what it returns.
    ///
    /// # Errors
    /// When the script throws, or returns something else.
    pub async fn run<T: DeserializeOwned>(&self, script: &str) -> Result<T> {
        self.run_with(script, Vec::new()).await
    }

    /// Runs a script's body with arguments.
    ///
    /// # Errors
    /// When the script throws, or returns something else.
    pub async fn run_with<T: DeserializeOwned>(&self, body: &str, args: Vec<Value>) -> Result<T> {
        let result = self.driver.execute(body, args).await?;
        Ok(result.convert()?)
    }

    /// Sends a command of Chrome's developer tools.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn cdp(&self, method: &str, params: Value) -> Result<Value> {
        let answer = self.driver.cdp().send_raw(method, params).await;
        answer.with_context(|| format!("{method} failed"))
    }

    /// What the browser complained about since the last call: uncaught errors, `console.error`,
    /// files that did not load.
    ///
    /// # Errors
    /// When the browser cannot be reached.
    pub async fn complaints(&self) -> Result<Vec<String>> {
        let entries = self.driver.browser_log().await?;
        let severe = entries.into_iter().filter(|entry| entry.level == "SEVERE");
        Ok(severe.map(|entry| entry.message).collect())
    }

    /// axe's serious and critical findings in the page as it is now.
    ///
    /// # Errors
    /// When axe cannot run.
    pub async fn axe(&self) -> Result<Vec<Violation>> {
        axe::run(&self.driver, &self.place.axe).await
    }

    /// The site's files that the page has asked for before its first picture stood, and since, as
    /// paths under its base.
    ///
    /// # Errors
    /// When the browser cannot be reached.
    pub async fn loaded(&self) -> Result<[Vec<String>; 2]> {
        let both: [Vec<String>; 2] = self.run(LOADED).await?;
        Ok(both.map(|names| {
            let inner = names
                .iter()
                .filter_map(|name| name.strip_prefix(&self.place.site));
            let plain = inner.filter_map(|path| path.split(['?', '#']).next());
            let plain = plain.map(|path| if path.is_empty() { "index.html" } else { path });
            plain.map(str::to_owned).collect()
        }))
    }

    /// Saves a picture of the whole page, also of what is below the fold, under `name.png`.
    ///
    /// # Errors
    /// When the browser refuses or the file cannot be written.
    pub async fn picture(&self, name: &str) -> Result<PathBuf> {
        let metrics = self.cdp("Page.getLayoutMetrics", json!({})).await?;
        let height = metrics
            .pointer("/cssContentSize/height")
            .and_then(Value::as_f64);
        let width = self.view.get().width;
        let height = height.unwrap_or_default().max(f64::from(width.height()));
        let clip = json!({
            "x": 0, "y": 0, "width": width.pixels(), "height": height.min(8000.0),
            "scale": 1,
        });
        let options = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.cdp("Page.captureScreenshot", options).await?;
        let data = picture
            .get("data")
            .and_then(Value::as_str)
            .context("no picture")?;
        let file = self.place.out.join(format!("{name}.png"));
        fs::create_dir_all(&self.place.out)?;
        fs::write(&file, BASE64_STANDARD.decode(data)?)?;
        Ok(file)
    }

    /// Keeps a note beside the pictures.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note(&self, name: &str, text: &str) -> Result<()> {
        fs::create_dir_all(&self.place.out)?;
        Ok(fs::write(Path::new(&self.place.out).join(name), text)?)
    }

    /// Leaves what helps to understand a failure. Failing at that must not hide the failure.
    pub(crate) async fn leave_traces(&self, name: &str) {
        let name = format!("failed-{name}-{}", self.view.get());
        let _ = self.picture(&name).await;
        let complaints = self.complaints().await.unwrap_or_default().join("\n");
        let _ = self.note(&format!("{name}.txt"), &complaints);
    }
}

/// What the browser needs to know about a key: code, number, and the text that it writes.
fn key_data(name: &str) -> Result<(String, u32, &str)> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        let upper = letter.to_ascii_uppercase();
        let code = match letter {
            ' ' => "Space".to_owned(),
            digit if digit.is_ascii_digit() => format!("Digit{digit}"),
            _ => format!("Key{upper}"),
        };
        return Ok((code, u32::from(upper), name));
    }
    let known = KEYS.iter().find(|(key, _)| *key == name);
    let (_, number) = known.with_context(|| format!("unknown key {name:?}"))?;
    let text = if name == "Enter" { "\r" } else { "" };
    Ok((name.to_owned(), *number, text))
}

const KEYS: &[(&str, u32)] = &[
    ("Backspace", 8),
    ("Tab", 9),
    ("Enter", 13),
    ("Escape", 27),
    ("PageUp", 33),
    ("PageDown", 34),
    ("End", 35),
    ("Home", 36),
    ("ArrowLeft", 37),
    ("ArrowUp", 38),
    ("ArrowRight", 39),
    ("ArrowDown", 40),
    ("Delete", 46),
];

/// The page sets this once it has drawn what the route asks for.
const READY: &str = "document.documentElement.dataset.ready === '1'";

/// Marks the first shown button, link or labelled control of that name.
const FIND_NAMED: &str = "
    const name = arguments[0];
    document.querySelectorAll('[data-e2e-found]').forEach(e => delete e.dataset.e2eFound);
    const all = 'button, a, summary, label, [role=button], [role=radio], [role=tab], input';
    const fits = e => [e.getAttribute('aria-label'), e.textContent, e.value, e.title]
        .some(text => typeof text === 'string' && text.trim() === name);
    const found = [...document.querySelectorAll(all)].find(e => e.checkVisibility() && fits(e));
    if (found) found.dataset.e2eFound = '1';
    return Boolean(found);
";

const FOCUSED: &str = "
    const e = document.activeElement;
    if (!e || e === document.body) return '';
    return (e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent
        || e.value || e.title || e.id).trim();
";

const LOADED: &str = "
    const entries = ['navigation', 'resource'].flatMap(t => performance.getEntriesByType(t));
    const picture = performance.getEntriesByName('picture')[0];
    const isFirst = entry => !picture || entry.startTime <= picture.startTime;
    const names = list => list.map(entry => entry.name);
    return [names(entries.filter(isFirst)), names(entries.filter(entry => !isFirst(entry)))];
";

/// `--no-sandbox`, since CI is root; the page is our own.
const FLAGS: &[&str] = &[
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1400,900",
];

const SOON: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_as_the_browser_wants_them() {
        for (name, code, number, text) in [
            ("Tab", "Tab", 9, ""),
            ("Enter", "Enter", 13, "\r"),
            (" ", "Space", 32, " "),
            ("a", "KeyA", 65, "a"),
            ("1", "Digit1", 49, "1"),
        ] {
            let expected = (code.to_owned(), number, text);
            assert_eq!(key_data(name).unwrap(), expected, "{name}");
        }
        assert!(key_data("Tabb").is_err(), "unknown");
    }
}
