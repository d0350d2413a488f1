//! `cargo xtask dist`: the static site in `dist/`.
//!
//! It is `static/` with the package under `pkg/`, all paths relative, so that it works under any
//! path of any host. `__BUILD__` in HTML and JavaScript becomes a stamp of the contents: a page
//! that asks for `./pkg/terrarium_web.js?v=__BUILD__` never meets another build's files in a cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use flate2::Crc;

use crate::budget::{Bill, Weighed, gzip_size};
use crate::page::{self, NAME, Profile};
use crate::run::Tool;
use crate::rust::WasmRust;
use crate::say::{complain, say};
use crate::{first_load, place, split, tools};

/// Builds the site; false if it is too heavy.
pub(crate) fn dist() -> Result<bool> {
    let rust = WasmRust::ready()?;
    say("Building the page for release (cold: three to six minutes).");
    let package = place::target("page/release");
    page::build(&rust, Profile::Release, &package)?;
    let bill = assemble(&package, &first_load::known()?)?;
    if bill.is_within_limit() {
        return Ok(true);
    }
    // Another compiler may build functions otherwise; then the profile knows few of them.
    say("That is too heavy. Finding out anew what the page needs at first, for this build.");
    let bill = assemble(&package, &first_load::find()?)?;
    if !bill.is_within_limit() {
        complain("dist/ is too heavy: what loads at first must be made smaller");
    }
    Ok(bill.is_within_limit())
}

/// Puts the site together and prints what it weighs.
fn assemble(package: &Path, profile: &split::Profile) -> Result<Bill> {
    let modules = tools::node_modules()?;
    let new = place::target("dist-new");
    let _ = fs::remove_dir_all(&new);
    copy(&place::root().join("static"), &new)?;
    copy(package, &new.join("pkg"))?;
    let program = new.join("pkg").join(format!("{NAME}_bg.wasm"));
    let later = new.join("pkg").join(format!("{NAME}_rest.wasm"));
    optimise(&modules, &program, &["--debuginfo"])?;
    first_load::cut(&program, &later, profile)?;
    for half in [&program, &later] {
        optimise(&modules, half, &[])?;
    }
    adopt_loader(&new.join("pkg"))?;
    stamp(&new)?;

    let dist = place::root().join("dist");
    let _ = fs::remove_dir_all(&dist);
    fs::rename(&new, &dist).context("cannot write dist/")?;
    let site = weighed(&dist)?;
    let bill = Bill::of(&site);
    say(&format!(
        "{bill}\nThe site is in dist/: {} files.",
        site.len()
    ));
    Ok(bill)
}

/// Has wasm-opt make the program smaller, in place; its functions keep their names.
pub(crate) fn optimise(modules: &Path, wasm: &Path, names: &[&str]) -> Result<()> {
    say("Making the program smaller with wasm-opt (10 to 20 seconds).");
    let smaller = wasm.with_extension("opt");
    Tool::new("node", &place::root())
        .args([modules.join("binaryen/bin/wasm-opt").as_path(), wasm])
        .args(["-Oz", "--strip-dwarf", "--strip-producers"])
        .args(names)
        .args(FEATURES)
        .args([Path::new("-o"), &smaller])
        .run()?;
    Ok(fs::rename(smaller, wasm)?)
}

/// What rustc takes for granted in wasm32-unknown-unknown; wasm-bindgen drops the section in which
/// wasm-opt would read it.
const FEATURES: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
];

/// Takes the script that loads the rest of the program out of the folder that wasm-bindgen has made
/// for it, whose name changes with the build, and tells it the rest's name.
fn adopt_loader(package: &Path) -> Result<()> {
    let snippets = package.join("snippets");
    let scripts = files(&snippets)?;
    let [script] = &scripts[..] else {
        bail!("one script is known to come with the package, not {scripts:?}");
    };
    let text = fs::read_to_string(script)?;
    fs::write(
        package.join("rest.js"),
        text.replace("__REST__", &format!("./{NAME}_rest.wasm")),
    )?;
    let glue = package.join(format!("{NAME}.js"));
    let path = script.strip_prefix(package)?.to_string_lossy();
    // The program asks for the script by its old name: that stays.
    let import = format!("from \"./{}\"", path.replace('\\', "/"));
    let text = fs::read_to_string(&glue)?;
    ensure!(text.contains(&import), "no import {import} in the package");
    let new = format!("from \"./rest.js?v={MARK}\"");
    fs::write(&glue, text.replace(&import, &new))?;
    Ok(fs::remove_dir_all(snippets)?)
}

/// Puts the stamp of all contents where HTML and JavaScript have its mark.
fn stamp(site: &Path) -> Result<()> {
    // The glue finds the program by its name: that needs the mark, too.
    let glue = site.join("pkg").join(format!("{NAME}.js"));
    let program = format!("{NAME}_bg.wasm");
    let marked = fs::read_to_string(&glue)?.replace(&program, &format!("{program}?v={MARK}"));
    fs::write(&glue, marked)?;

    let mut crc = Crc::new();
    let files = files(site)?;
    for file in &files {
        crc.update(&fs::read(file)?);
    }
    let stamp = format!("{:08x}", crc.sum());
    for file in files.iter().filter(|file| has_mark(file)) {
        let text = fs::read_to_string(file)?;
        fs::write(file, text.replace(MARK, &stamp))?;
    }
    Ok(())
}

fn has_mark(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension == "html" || extension == "js")
}

const MARK: &str = "__BUILD__";

/// Every file of a site with its size as gzip.
pub(crate) fn weighed(site: &Path) -> Result<Vec<Weighed>> {
    let weigh = |file: &PathBuf| {
        let path = file
            .strip_prefix(site)?
            .to_string_lossy()
            .replace('\\', "/");
        Ok(Weighed {
            path,
            gzip: gzip_size(&fs::read(file)?)?,
        })
    };
    files(site)?.iter().map(weigh).collect()
}

/// All files under a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Copies what is in a folder to another, over what is there.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in files(from)? {
        let target = to.join(file.strip_prefix(from)?);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&file, target)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_crate_is_a_cdylib_alone() {
        // With "rlib" beside it cargo leaves link-time optimisation out, in silence: the page
        // would be a third larger.
        let manifest = fs::read_to_string(place::root().join("web/Cargo.toml")).unwrap();
        assert!(manifest.contains("crate-type = [\"cdylib\"]"), "{manifest}");
    }

    #[test]
    fn a_stamp_goes_where_its_mark_is_and_changes_with_the_contents() {
        let site = std::env::temp_dir().join(format!("terrarium-stamp-{}", std::process::id()));
        let mut pages = Vec::new();
        for style in ["a", "b", "b"] {
            fs::create_dir_all(site.join("pkg")).unwrap();
            fs::write(site.join("index.html"), "pkg/terrarium_web.js?v=__BUILD__").unwrap();
            fs::write(site.join("style.css"), style).unwrap();
            fs::write(
                site.join("pkg/terrarium_web.js"),
                "new URL('terrarium_web_bg.wasm')",
            )
            .unwrap();
            stamp(&site).unwrap();
            let page = fs::read_to_string(site.join("index.html")).unwrap();
            let version = page.rsplit_once('=').unwrap().1.to_owned();
            let glue = fs::read_to_string(site.join("pkg/terrarium_web.js")).unwrap();
            assert_eq!(
                glue,
                format!("new URL('terrarium_web_bg.wasm?v={version}')"),
                "glue"
            );
            pages.push(page);
            fs::remove_dir_all(&site).unwrap();
        }
        assert!(pages[0] != pages[1] && pages[1] == pages[2], "{pages:?}");
        assert!(!pages[0].contains(MARK), "{pages:?}");
    }
}
