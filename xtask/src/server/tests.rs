use super::*;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn site(name: &str, base: &str) -> (Folder, Site) {
    let root = std::env::temp_dir().join(format!("terrarium-{name}-{}", std::process::id()));
    for (file, text) in [
        ("secret", "secret"),
        ("static/index.html", "<p>home"),
        ("static/a b.css", "a"),
        ("static/deep/index.html", "<p>deep"),
        ("static/pkg/old.js", "old"),
        ("pkg/page.js", "js"),
        ("pkg/page.wasm", "wasm"),
    ] {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), text).unwrap();
    }
    let folders = vec![("", root.join("static")), ("pkg/", root.join("pkg"))];
    (
        Folder(root),
        Site {
            base: base.to_owned(),
            folders,
            awaits: None,
        },
    )
}

#[test]
fn paths_lead_to_files_of_the_right_folder() {
    let (folder, site) = site("paths", "/");
    let root = &folder.0;
    let file = |name: &str| Answer::File(root.join(name));
    for (url, expected) in [
        ("/", file("static/index.html")),
        ("/?lang=en#/lesson", file("static/index.html")),
        ("/a%20b.css", file("static/a b.css")),
        ("/deep/", file("static/deep/index.html")),
        ("/deep", Answer::Moved("/deep/".to_owned())),
        ("/pkg/page.wasm?v=1", file("pkg/page.wasm")),
        ("/pkg/old.js", file("static/pkg/old.js")),
        ("/nothing", Answer::NotFound),
    ] {
        assert_eq!(site.look_up(url), expected, "{url}");
    }
}

#[test]
fn a_page_that_is_not_built_yet_says_so() {
    let (folder, mut site) = site("not-yet", "/");
    site.awaits = Some("pkg/built.wasm");
    assert_eq!(site.look_up("/"), Answer::NotYet, "page");
    assert_eq!(site.look_up("/deep/"), Answer::NotYet, "inner page");
    let style = Answer::File(folder.0.join("static/a b.css"));
    assert_eq!(site.look_up("/a%20b.css"), style, "other files are there");
    fs::write(folder.0.join("pkg/built.wasm"), "wasm").unwrap();
    let home = Answer::File(folder.0.join("static/index.html"));
    assert_eq!(site.look_up("/"), home, "built");
}

#[test]
fn no_path_leads_out_of_the_site() {
    let (_folder, site) = site("out", "/");
    for url in [
        "/../secret",
        "/%2e%2e/secret",
        "/pkg/../../secret",
        "/pkg%2f..%2f..%2fsecret",
        "/..%5csecret",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/C:/secret",
        "/a%00",
        "/%ff",
        "secret",
    ] {
        assert_eq!(site.look_up(url), Answer::NotFound, "{url}");
    }
}

#[test]
fn a_site_can_stand_under_a_path() {
    let (folder, site) = site("base", "/some/where/");
    let index = Answer::File(folder.0.join("static/index.html"));
    assert_eq!(site.look_up("/some/where/"), index, "with the slash");
    let moved = Answer::Moved("/some/where/".to_owned());
    assert_eq!(site.look_up("/some/where"), moved, "without the slash");
    for url in [
        "/",
        "/index.html",
        "/some/wherever/",
        "/some/where/../secret",
    ] {
        assert_eq!(site.look_up(url), Answer::NotFound, "{url}");
    }
}

#[test]
fn types_are_what_browsers_insist_on() {
    for (name, expected) in [
        ("index.html", "text/html; charset=utf-8"),
        ("page.js", "text/javascript; charset=utf-8"),
        ("page.wasm", "application/wasm"),
        ("style.css", "text/css; charset=utf-8"),
        ("lesson.toml", "text/x-toml; charset=utf-8"),
        ("manifest.webmanifest", "application/manifest+json"),
        ("a.json", "application/json; charset=utf-8"),
        ("a.svg", "image/svg+xml"),
        ("a.woff2", "font/woff2"),
        ("a.unheard-of", "application/octet-stream"),
    ] {
        assert_eq!(mime(Path::new(name)), expected, "{name}");
    }
}

#[test]
fn the_server_answers_and_forbids_caching() {
    let (_folder, site) = site("http", "/");
    let served = start(site, 0).unwrap();
    let host = served
        .address
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let ask = |method: &str, path: &str| {
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    };
    let reply = ask("GET", "/pkg/page.wasm");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(
        reply.contains("Content-Type: application/wasm\r\n"),
        "{reply}"
    );
    assert!(reply.contains("Cache-Control: no-store\r\n"), "{reply}");
    assert!(reply.ends_with("\r\n\r\nwasm"), "{reply}");
    assert!(
        ask("HEAD", "/pkg/page.js").ends_with("\r\n\r\n"),
        "HEAD has no body"
    );
    assert!(ask("POST", "/").starts_with("HTTP/1.1 405"), "POST");
    assert!(
        ask("GET", "/deep").contains("Location: /deep/\r\n"),
        "folder"
    );
    assert!(
        ask("GET", "/../secret").starts_with("HTTP/1.1 404"),
        "outside"
    );
}

#[test]
fn a_busy_port_is_said_in_one_line_with_the_way_out() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port();
    let site = Site {
        base: "/".to_owned(),
        folders: Vec::new(),
        awaits: None,
    };
    let error = start(site, port).unwrap_err();
    assert!(error.downcast_ref::<Missing>().is_some(), "exit 2");
    let line = error.to_string();
    assert!(
        line.contains(&format!("{port} is in use")) && line.contains("--port"),
        "{line}"
    );
    assert_eq!(line.lines().count(), 1, "{line}");
}
