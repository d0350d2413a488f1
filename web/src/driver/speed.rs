//! How fast simulated time goes.

/// Simulated time per real time, in thousandths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Speed(pub u32);

impl Speed {
    /// As fast as real time.
    pub(crate) const REAL: Self = Self(1_000);

    /// The speeds on offer, slowest first.
    pub(crate) const ALL: [Self; 9] = [
        Self(1),
        Self(10),
        Self(100),
        Self(250),
        Self::REAL,
        Self(4_000),
        Self(10_000),
        Self(100_000),
        Self(1_000_000),
    ];

    /// As controls write it: `1/100x`, `10x`.
    pub(crate) fn label(self) -> String {
        match self.0 {
            0 => String::from("0x"),
            thousandths if thousandths < 1_000 => format!("1/{}x", 1_000 / thousandths),
            thousandths => format!("{}x", thousandths / 1_000),
        }
    }

    /// Simulated microseconds that pass in `wall_ms` milliseconds.
    pub(crate) fn micros(self, wall_ms: f64) -> f64 {
        wall_ms * f64::from(self.0)
    }
}

impl Default for Speed {
    fn default() -> Self {
        Self::REAL
    }
}
