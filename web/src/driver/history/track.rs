//! Intervals on one track of history.

use std::collections::VecDeque;
use terrarium_core::kernel::time::SimTime;

/// A place in the trace and its instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment {
    /// Index of the trace entry.
    pub index: u64,
    /// When.
    pub at: SimTime,
}

/// Something that lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval<T> {
    /// The entry that began it.
    pub from: Moment,
    /// The entry that ended it; unset while it lasts.
    pub to: Option<Moment>,
    /// What it is.
    pub what: T,
}

impl<T> Interval<T> {
    /// When it ended, for someone who knows only the first `clip` entries of the trace.
    pub(crate) fn end(&self, clip: u64) -> Option<SimTime> {
        self.to.filter(|to| to.index < clip).map(|to| to.at)
    }

    /// When it ended, or `now` while it lasts.
    pub(crate) fn end_or(&self, clip: u64, now: SimTime) -> SimTime {
        self.end(clip).unwrap_or(now)
    }
}

/// Intervals in the order in which they began. The oldest that have ended are dropped beyond a
/// limit.
///
/// Invariant: `open` holds the sequence numbers of exactly the intervals without an end, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Track<T> {
    items: VecDeque<Interval<T>>,
    /// Sequence number of the first item.
    first: u64,
    open: Vec<u64>,
    limit: usize,
}

impl<T> Track<T> {
    /// An empty track that keeps about `limit` intervals.
    pub(crate) const fn new(limit: usize) -> Self {
        Self {
            items: VecDeque::new(),
            first: 0,
            open: Vec::new(),
            limit,
        }
    }

    /// Something begins.
    pub(crate) fn open(&mut self, from: Moment, what: T) {
        let sequence = self.first + u64::try_from(self.items.len()).unwrap_or(u64::MAX);
        self.open.push(sequence);
        self.items.push_back(Interval {
            from,
            to: None,
            what,
        });
        while self.limit < self.items.len() && self.open.first() != Some(&self.first) {
            self.items.pop_front();
            self.first += 1;
        }
    }

    /// Everything that lasts and answers to `is_meant` ends. Gives how many did.
    pub(crate) fn close(&mut self, to: Moment, is_meant: impl Fn(&T) -> bool) -> usize {
        let before = self.open.len();
        let (items, first) = (&mut self.items, self.first);
        self.open.retain(|sequence| {
            let item = place(*sequence, first).and_then(|index| items.get_mut(index));
            match item {
                Some(item) if is_meant(&item.what) => {
                    item.to = Some(to);
                    false
                }
                _ => true,
            }
        });
        before - self.open.len()
    }

    /// What lasts at the end of the known trace.
    pub(crate) fn lasting(&self) -> impl Iterator<Item = &Interval<T>> {
        self.open
            .iter()
            .filter_map(|sequence| self.items.get(place(*sequence, self.first)?))
    }

    /// What touches the time from `from` to `to`, as far as the first `clip` entries tell.
    pub(crate) fn seen(
        &self,
        from: SimTime,
        to: SimTime,
        clip: u64,
    ) -> impl Iterator<Item = &Interval<T>> {
        let begun = self.items.partition_point(|item| item.from.at <= to);
        self.items.range(..begun).filter(move |item| {
            item.from.index < clip && item.end(clip).is_none_or(|end| from <= end)
        })
    }

    /// What lasts after the first `clip` entries.
    pub(crate) fn current(&self, clip: u64) -> impl Iterator<Item = &Interval<T>> {
        let begun = self.items.partition_point(|item| item.from.index < clip);
        self.items
            .range(..begun)
            .filter(move |item| item.end(clip).is_none())
    }

    /// Forgets what the entries from `index` on told.
    pub(crate) fn cut(&mut self, index: u64) {
        while self
            .items
            .back()
            .is_some_and(|item| index <= item.from.index)
        {
            self.items.pop_back();
        }
        self.open.clear();
        for (item, sequence) in self.items.iter_mut().zip(self.first..) {
            if item.to.is_some_and(|to| index <= to.index) {
                item.to = None;
            }
            if item.to.is_none() {
                self.open.push(sequence);
            }
        }
    }
}

fn place(sequence: u64, first: u64) -> Option<usize> {
    usize::try_from(sequence.checked_sub(first)?).ok()
}
