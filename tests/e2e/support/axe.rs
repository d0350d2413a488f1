//! axe: what in the page keeps people with disabilities out.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use thirtyfour::prelude::WebDriver;

/// A serious or critical finding.
#[derive(Debug, Clone, Deserialize)]
pub struct Violation {
    /// The rule's name.
    pub id: String,
    /// `serious` or `critical`.
    pub impact: String,
    /// What the rule asks for.
    pub help: String,
    /// The elements at fault, as selectors with what is wrong.
    pub nodes: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} ({}): {}\n  {}",
            self.id,
            self.impact,
            self.help,
            self.nodes.join("\n  ")
        )
    }
}

pub(crate) async fn run(driver: &WebDriver, script: &Path) -> Result<Vec<Violation>> {
    let axe = fs::read_to_string(script).with_context(|| format!("no {}", script.display()))?;
    driver.execute(axe, Vec::new()).await?;
    let result = driver.execute_async(RUN, Vec::new()).await?;
    Ok(result.convert()?)
}

const RUN: &str = "
    const done = arguments[0];
    const keep = v => v.impact === 'serious' || v.impact === 'critical';
    const node = n => n.target.join(' ') + ': ' + n.failureSummary.split('\\n').slice(1).join(' ');
    axe.run(document, { resultTypes: ['violations'] }).then(
        found => done(found.violations.filter(keep).map(v =>
            ({ id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map(node) }))),
        error => done([{ id: 'axe', impact: 'critical', help: String(error), nodes: [] }]));
";
