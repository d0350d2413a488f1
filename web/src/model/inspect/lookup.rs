//! How a broker finds an offset, or a time, in the files of a log: segment, index, scan.

use super::Reading;
use crate::driver::selection::Selection;
use terrarium_core::base::ids::Offset;
use terrarium_core::kernel::time::{SimTime, parse_span};

/// Most batches of a scan that are told one by one.
const BATCHES_MAX: usize = 12;

impl Reading<'_> {
    /// The steps of looking up what is asked for in the selected replica; none when nothing is asked
    /// for. Unset when no replica is selected.
    pub(crate) fn lookup(&self) -> Option<Vec<String>> {
        let Some(Selection::Replica(broker, id)) = self.selection else {
            return None;
        };
        let log = self.sim.log(*broker, *id)?;
        let asked = self.asked.trim();
        let say = |key: &str, args: &[(&str, &str)]| self.catalog.text(key, args);
        if asked.is_empty() {
            return Some(Vec::new());
        }
        let found = match (asked.parse(), parse_span(asked)) {
            (Ok(offset), _) => log.look_up_offset(Offset(offset)),
            (Err(_), Ok(span)) => log.look_up_timestamp(SimTime(span.0)),
            (Err(_), Err(_)) => return Some(vec![say("lookup.bad", &[("text", asked)])]),
        };
        let Some(found) = found else {
            let (from, to) = (log.log_start_offset(), log.log_end_offset());
            let args = [("from", &*from.to_string()), ("to", &*to.to_string())];
            return Some(vec![say("lookup.outside", &args)]);
        };
        let file = format!("{:020}", found.segment.0);
        let mut steps = vec![say("lookup.segment", &[("file", &file)])];
        if let Some((timestamp, offset)) = found.time_index_entry {
            let args = [
                ("time", &*timestamp.to_string()),
                ("offset", &*offset.to_string()),
            ];
            steps.push(say("lookup.time-index", &args));
        }
        steps.push(match found.index_entry {
            Some((offset, position)) => {
                let args = [
                    ("offset", &*offset.to_string()),
                    ("position", &*position.to_string()),
                    ("file", &*file),
                ];
                say("lookup.index", &args)
            }
            None => say("lookup.no-index", &[("file", &file)]),
        });
        let told = found.scanned.len().saturating_sub(BATCHES_MAX);
        if 0 < told {
            steps.push(say("lookup.more", &[("count", &told.to_string())]));
        }
        for batch in found.scanned.iter().skip(told) {
            let args = [
                ("from", &*batch.base_offset.to_string()),
                ("to", &*batch.last_offset.to_string()),
                ("position", &*batch.position.to_string()),
            ];
            steps.push(say("lookup.batch", &args));
        }
        steps.push(match found.found {
            Some((offset, timestamp)) => {
                let args = [
                    ("offset", &*offset.to_string()),
                    ("time", &*timestamp.to_string()),
                ];
                say("lookup.found", &args)
            }
            None => self.catalog.t("lookup.nothing"),
        });
        Some(steps)
    }
}
