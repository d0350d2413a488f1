//! A static file server for this machine alone.
//!
//! `tiny_http` and `mime_guess` come with wasm-bindgen's test runner, which serves browser tests
//! with them; so they cost nothing here and are kept as long as wasm-bindgen is.

use std::fs::File;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Error, Result, anyhow};
use percent_encoding::percent_decode_str;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::run::Missing;

/// What is served: folders under one path, the later ones over the earlier ones.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    /// Where the site is mounted: `/`, or `/some/where/`.
    pub(crate) base: String,
    /// A path under the base (empty, or `pkg/`) and the folder that it shows.
    pub(crate) folders: Vec<(&'static str, PathBuf)>,
    /// A file under the base without which the page cannot start: until it is built, a page says so
    /// and looks again by itself.
    pub(crate) awaits: Option<&'static str>,
}

/// What a path leads to.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    File(PathBuf),
    /// The page, before it is built.
    NotYet,
    Moved(String),
    NotFound,
}

/// A server that runs until the program ends.
#[derive(Debug)]
pub(crate) struct Served {
    /// The site's address, with its base.
    pub(crate) address: String,
}

/// Starts to serve on 127.0.0.1; port 0 takes a free one.
pub(crate) fn start(site: Site, port: u16) -> Result<Served> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .map_err(|error| no_port(port, error))?;
    let address = format!("http://{}{}", listener.local_addr()?, site.base);
    let server = Server::from_listener(listener, None).map_err(|error| anyhow!("{error}"))?;
    let (server, site) = (Arc::new(server), Arc::new(site));
    for _ in 0..WORKERS {
        let (server, site) = (Arc::clone(&server), Arc::clone(&site));
        std::thread::spawn(move || {
            while let Ok(request) = server.recv() {
                // A browser that went away is no failure of ours.
                let _ = site.answer(request);
            }
        });
    }
    Ok(Served { address })
}

impl Site {
    fn answer(&self, request: Request) -> std::io::Result<()> {
        if !matches!(request.method(), Method::Get | Method::Head) {
            return request.respond(plain(405, "only GET and HEAD\n"));
        }
        match self.look_up(request.url()) {
            Answer::File(path) => match File::open(&path) {
                Ok(file) => {
                    let kind = header("Content-Type", &mime(&path));
                    let reply = Response::from_file(file).with_header(no_store());
                    request.respond(reply.with_header(no_sniff()).with_header(kind))
                }
                Err(error) => request.respond(plain(500, &format!("{error}\n"))),
            },
            Answer::NotYet => {
                let html = header("Content-Type", "text/html; charset=utf-8");
                let again = header("Refresh", "2");
                request.respond(plain(503, NOT_YET).with_header(html).with_header(again))
            }
            Answer::Moved(to) => {
                request.respond(plain(302, "").with_header(header("Location", &to)))
            }
            Answer::NotFound => request.respond(plain(404, "not found\n")),
        }
    }

    fn look_up(&self, url: &str) -> Answer {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        let Some(rest) = path.strip_prefix(&self.base) else {
            let is_base = format!("{path}/") == self.base;
            return if is_base {
                Answer::Moved(self.base.clone())
            } else {
                Answer::NotFound
            };
        };
        let Some(rest) = safe(rest) else {
            return Answer::NotFound;
        };
        for (under, folder) in self.folders.iter().rev() {
            let Some(inner) = rest.strip_prefix(under) else {
                continue;
            };
            let file = folder.join(inner);
            if file.is_dir() && !path.ends_with('/') {
                return Answer::Moved(format!("{path}/"));
            }
            for file in [file.clone(), file.join("index.html")] {
                if file.is_file() {
                    let is_page = file.ends_with("index.html");
                    return if is_page && self.is_waiting() {
                        Answer::NotYet
                    } else {
                        Answer::File(file)
                    };
                }
            }
        }
        Answer::NotFound
    }
}

impl Site {
    fn is_waiting(&self) -> bool {
        let missing = |file: &&str| {
            let folders = self.folders.iter();
            let mut places =
                folders.filter_map(|(under, folder)| Some(folder.join(file.strip_prefix(under)?)));
            !places.any(|place| place.is_file())
        };
        self.awaits.as_ref().is_some_and(missing)
    }
}

/// The path that a request means, unless it leads out of the folder.
fn safe(path: &str) -> Option<String> {
    let path = percent_decode_str(path).decode_utf8().ok()?;
    let inside = |part: &str| part != ".." && !part.contains(['\\', ':', '\0']);
    let rooted = path.starts_with('/');
    (!rooted && path.split('/').all(inside)).then(|| path.into_owned())
}

/// The content type by the file's name; text is UTF-8.
fn mime(path: &std::path::Path) -> String {
    let guess = mime_guess::from_path(path).first_or_octet_stream();
    let text =
        guess.type_() == "text" || ["json", "javascript"].contains(&guess.subtype().as_str());
    let charset = if text { "; charset=utf-8" } else { "" };
    format!("{}{charset}", guess.essence_str())
}

fn no_port(port: u16, error: std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::AddrInUse => {
            let get = format!("cargo xtask serve --port {}", port.saturating_add(1));
            Missing::new(format!("a free port ({port} is in use)"), get).into()
        }
        _ => Error::new(error).context(format!("cannot listen on port {port}")),
    }
}

fn plain(status: u16, text: &str) -> Response<std::io::Cursor<Vec<u8>>> {
    Response::from_string(text)
        .with_status_code(status)
        .with_header(no_store())
}

fn no_store() -> Header {
    header("Cache-Control", "no-store")
}

fn no_sniff() -> Header {
    header("X-Content-Type-Options", "nosniff")
}

/// A header; a value that HTTP cannot carry becomes an empty one.
fn header(name: &str, value: &str) -> Header {
    let build = |value: &str| Header::from_bytes(name.as_bytes(), value.as_bytes());
    build(value)
        .or_else(|()| build(""))
        .unwrap_or_else(|()| no_store())
}

/// In both languages of the page, which cannot be asked for one.
const NOT_YET: &str = "<!doctype html><meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">
<title>Terrarium is being built</title>
<body style=\"font: 16px/1.6 system-ui, sans-serif; max-width: 34em; margin: 20vh auto; padding: 0 1em\">
<p>Terrarium is being built. The terminal shows how far it is; this page opens by itself when it is done.
<p lang=\"zh-CN\">Terrarium 正在构建。进度见终端；完成后本页会自动打开。
";

/// Browsers open about six connections to one server.
const WORKERS: usize = 6;

#[cfg(test)]
mod tests;
