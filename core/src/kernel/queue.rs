//! The event queue.

use super::time::SimTime;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events ordered by `(due_at, sequence)`: ties go to the event that was put in first.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    next_sequence: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    due_at: SimTime,
    sequence: u64,
    event: E,
}

impl<E> EventQueue<E> {
    /// A queue with nothing in it.
    pub const fn new() -> Self {
        Self {
            heap: BinaryHeap::new(),
            next_sequence: 0,
        }
    }

    /// Puts `event` in, due at `due_at`, behind everything else that is due then.
    pub fn push(&mut self, due_at: SimTime, event: E) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        self.heap.push(Entry {
            due_at,
            sequence,
            event,
        });
    }

    /// Takes the earliest event out.
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.heap.pop().map(|entry| (entry.due_at, entry.event))
    }

    /// When the earliest event is due.
    pub fn next_due(&self) -> Option<SimTime> {
        self.heap.peek().map(|entry| entry.due_at)
    }

    /// Events that wait, cancelled timers included.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.due_at, self.sequence) == (other.due_at, other.sequence)
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    /// Reversed, because the heap hands out its greatest entry.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.due_at, other.sequence).cmp(&(self.due_at, self.sequence))
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::EventQueue;
    use crate::kernel::time::SimTime;

    #[test]
    fn ties_go_to_the_event_that_was_put_in_first() {
        let mut queue = EventQueue::new();
        queue.push(SimTime(5), "b");
        queue.push(SimTime(3), "a");
        queue.push(SimTime(5), "c");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(
            order,
            [(SimTime(3), "a"), (SimTime(5), "b"), (SimTime(5), "c")],
            "by time, then by insertion"
        );
    }
}
