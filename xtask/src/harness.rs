//! What the end-to-end tests stand on: the served site and a driver, known by variables.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::run::{Running, Tool};
use crate::server::{self, Served, Site};
use crate::{place, tools};

/// A served site and a running driver; both end with it (the server, with the program).
#[derive(Debug)]
pub(crate) struct Harness {
    served: Served,
    driver: String,
    chrome: PathBuf,
    axe: PathBuf,
    _running: Running,
}

impl Harness {
    /// Serves `folders` under a path, as a site may stand anywhere, and starts chromedriver.
    pub(crate) fn start(folders: Vec<(&'static str, PathBuf)>) -> Result<Self> {
        let browser = tools::browser()?;
        let axe = tools::node_modules()?.join("axe-core/axe.min.js");
        let served = server::start(
            Site {
                base: "/some/where/".to_owned(),
                folders,
                awaits: None,
            },
            0,
        )?;
        let port = free_port()?;
        let running = Tool::new(&browser.driver, &place::root())
            .args([format!("--port={port}"), "--silent".to_owned()])
            .background()?;
        let started = Instant::now();
        while TcpStream::connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).is_err() {
            ensure!(
                started.elapsed() < PATIENCE,
                "chromedriver does not answer on port {port}"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        let driver = format!("http://127.0.0.1:{port}");
        Ok(Self {
            served,
            driver,
            chrome: browser.chrome,
            axe,
            _running: running,
        })
    }

    /// Tells a program where everything is; its pictures and notes go to `out`.
    pub(crate) fn tell(&self, tool: Tool, out: &Path) -> Tool {
        tool.env("TERRARIUM_E2E_SITE", &self.served.address)
            .env("TERRARIUM_E2E_DRIVER", &self.driver)
            .env("TERRARIUM_E2E_CHROME", &self.chrome)
            .env("TERRARIUM_E2E_AXE", &self.axe)
            .env("TERRARIUM_E2E_OUT", out)
    }
}

/// A port that was free a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

const PATIENCE: Duration = Duration::from_secs(30);
