//! Token and cost totals.

/// Sums over assistant messages and `task` tool results. Missing numbers count as 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Prompt tokens.
    pub input: f64,
    /// Completion tokens.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to the provider's cache.
    pub cache_write: f64,
    /// Premium requests; fractions occur.
    pub premium_requests: f64,
    /// Total cost.
    pub cost: f64,
}

impl Usage {
    /// Adds another item.
    pub fn add(&mut self, other: &Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.premium_requests += other.premium_requests;
        self.cost += other.cost;
    }

    /// The numbers in their public order.
    pub fn to_array(self) -> [f64; 6] {
        [
            self.input,
            self.output,
            self.cache_read,
            self.cache_write,
            self.premium_requests,
            self.cost,
        ]
    }

    /// The numbers from their public order.
    pub fn from_array(n: [f64; 6]) -> Self {
        Self {
            input: n[0],
            output: n[1],
            cache_read: n[2],
            cache_write: n[3],
            premium_requests: n[4],
            cost: n[5],
        }
    }
}
