//! Order of tool calls and tool results.
//!
//! Providers want the results of an assistant message right behind it. Conversations do not always
//! keep to that: users type while tools run, runs are interrupted, histories are cut. [`repair`]
//! plans a list in which every call has its result; results that exist nowhere are to be invented.
//!
//! What stands between an assistant message and its results moves behind them. No message is lost,
//! and the order of everything but tool results stays.

use std::collections::VecDeque;

/// A message, as far as the order depends on it. Calls are named by small numbers: equal ids of
/// calls have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// Neither calls tools nor is the result of a call.
    Other,
    /// The result of a call.
    Result(u32),
    /// An assistant message with its calls in order; repeated ones count once.
    Calls(&'a [u32]),
}

/// A place in the repaired list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The message at this position of the input.
    Message(u32),
    /// A result to be invented for this call of the last assistant message before it.
    Missing(u32),
}

/// Reads messages from one list of numbers: 0 is [`Message::Other`]; 1 and a call a
/// [`Message::Result`]; 1 + n and n calls [`Message::Calls`].
///
/// `None` when the list ends early, or when a call's number is not below the length of the list.
pub fn unpack(mut packed: &[u32]) -> Option<Vec<Message<'_>>> {
    let limit = packed.len();
    let mut messages = Vec::new();
    while let Some((&head, rest)) = packed.split_first() {
        let count = if head == 1 { 1 } else { head.saturating_sub(1) };
        let (calls, rest) = rest.split_at_checked(count as usize)?;
        if calls.iter().any(|&call| call as usize >= limit) {
            return None;
        }
        messages.push(match (head, calls) {
            (1, &[call]) => Message::Result(call),
            (_, []) => Message::Other,
            (_, calls) => Message::Calls(calls),
        });
        packed = rest;
    }
    Some(messages)
}

/// Plans the repaired list; `None` when the list is in order. Linear in the size of the input.
pub fn repair(messages: &[Message<'_>]) -> Option<Vec<Step>> {
    let calls = count_calls(messages);
    let gathered = Gathering::run(messages, calls);
    let fetched = Fetching::run(messages, &gathered.out, calls);
    if fetched.groups.is_empty() {
        return gathered.changed.then_some(gathered.out);
    }
    Some(fetched.rebuild(&gathered.out))
}

/// One more than the highest number of a call: the length of tables by call.
fn count_calls(messages: &[Message<'_>]) -> usize {
    let highest = |message: &Message<'_>| match *message {
        Message::Other => None,
        Message::Result(call) => Some(call),
        Message::Calls(calls) => calls.iter().copied().max(),
    };
    let highest = messages.iter().filter_map(highest).max();
    highest.map_or(0, |call| call as usize + 1)
}

/// First pass, over the input: results that stand behind their call move up to it.
///
/// It goes on behind the last result that it needed, so assistant messages that stood in between
/// are left to the second pass. Where a result is missing that is the end of the list.
struct Gathering<'a> {
    messages: &'a [Message<'a>],
    /// Where the last result of a call stands.
    last: Vec<Option<usize>>,
    /// Calls of the assistant message at hand whose results were not found yet.
    needed: Vec<bool>,
    /// Messages that were looked at for a call.
    used: Vec<bool>,
    out: Vec<Step>,
    changed: bool,
}

impl<'a> Gathering<'a> {
    fn run(messages: &'a [Message<'a>], calls: usize) -> Self {
        let mut last = vec![None; calls];
        for (at, message) in messages.iter().enumerate() {
            if let Message::Result(call) = *message {
                last[call as usize] = Some(at);
            }
        }
        let mut pass = Self {
            messages,
            last,
            needed: vec![false; calls],
            used: vec![false; messages.len()],
            out: Vec::with_capacity(messages.len()),
            changed: false,
        };
        let mut at = 0;
        while let Some(message) = messages.get(at) {
            pass.emit(at);
            at = match *message {
                Message::Calls(calls) => pass.gather(calls, at + 1),
                _ => at + 1,
            };
        }
        pass
    }

    fn emit(&mut self, at: usize) {
        self.out.push(Step::Message(at as u32));
    }

    /// Emits the results of some calls, then what stood between them. Returns where to go on.
    fn gather(&mut self, calls: &[u32], mut at: usize) -> usize {
        let mut missing = 0;
        for &call in calls {
            let needed = std::mem::replace(&mut self.needed[call as usize], true);
            missing += usize::from(!needed);
        }
        let mut between = Vec::new();
        while missing > 0 && at < self.messages.len() {
            self.used[at] = true;
            if self.satisfies(at) {
                missing -= 1;
                self.changed |= !between.is_empty();
                self.emit(at);
            } else {
                between.push(at);
            }
            at += 1;
        }
        for &call in calls {
            if std::mem::take(&mut self.needed[call as usize]) {
                self.changed = true;
                let step = self.earlier_result(call);
                self.out.push(step);
            }
        }
        for at in between {
            self.emit(at);
        }
        at
    }

    /// Whether this message is a result that is needed; it is not needed again.
    fn satisfies(&mut self, at: usize) -> bool {
        match self.messages[at] {
            Message::Result(call) => std::mem::take(&mut self.needed[call as usize]),
            _ => false,
        }
    }

    /// The result of a call that stands before it. It stays there too: it may be what an earlier
    /// call of the same name waits for.
    fn earlier_result(&mut self, call: u32) -> Step {
        match self.last[call as usize] {
            Some(at) if !self.used[at] => {
                self.used[at] = true;
                Step::Message(at as u32)
            }
            _ => Step::Missing(call),
        }
    }
}

/// Second pass, over the list of the first: assistant messages that have no results behind them
/// get them from further down. Positions are those of that list.
struct Fetching {
    /// Results that were taken from their place.
    gone: Vec<bool>,
    /// Assistant messages and what to put right behind them.
    groups: Vec<(usize, Vec<Step>)>,
}

impl Fetching {
    fn run(messages: &[Message<'_>], list: &[Step], calls: usize) -> Self {
        let result_at = |at: usize| match *list.get(at)? {
            Step::Missing(call) => Some(call as usize),
            Step::Message(message) => match messages[message as usize] {
                Message::Result(call) => Some(call as usize),
                _ => None,
            },
        };
        let mut waiting = vec![VecDeque::new(); calls];
        for at in 0..list.len() {
            if let Some(call) = result_at(at) {
                waiting[call].push_back(at);
            }
        }
        let mut pass = Self {
            gone: vec![false; list.len()],
            groups: Vec::new(),
        };
        // The assistant message (plus one) that last had a result of this call, or got one.
        let mut covered = vec![0; calls];
        for (at, step) in list.iter().enumerate() {
            let &Step::Message(message) = step else {
                continue;
            };
            let Message::Calls(calls) = messages[message as usize] else {
                continue;
            };
            let mut end = at + 1;
            while let Some(call) = result_at(end) {
                covered[call] = at + 1;
                end += 1;
            }
            let mut group = Vec::new();
            for &call in calls {
                if std::mem::replace(&mut covered[call as usize], at + 1) != at + 1 {
                    group.push(pass.take(list, &mut waiting[call as usize], end, call));
                }
            }
            if !group.is_empty() {
                pass.groups.push((at, group));
            }
        }
        pass
    }

    /// Takes the first result behind a position that is still in its place.
    fn take(
        &mut self,
        list: &[Step],
        waiting: &mut VecDeque<usize>,
        behind: usize,
        call: u32,
    ) -> Step {
        // Positions only grow from one assistant message to the next, so none is wanted later.
        while waiting.front().is_some_and(|&at| at <= behind) {
            waiting.pop_front();
        }
        match waiting.pop_front() {
            Some(at) => {
                self.gone[at] = true;
                list[at]
            }
            None => Step::Missing(call),
        }
    }

    fn rebuild(self, list: &[Step]) -> Vec<Step> {
        let mut groups = self.groups.into_iter().peekable();
        let mut out = Vec::with_capacity(list.len());
        for (at, (&step, gone)) in list.iter().zip(self.gone).enumerate() {
            if !gone {
                out.push(step);
            }
            if let Some((_, group)) = groups.next_if(|&(behind, _)| behind == at) {
                out.extend(group);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a history in the notation of the assertions below: `A[xy]` calls x and y, `x` is the
    /// result of x, `.` something else.
    fn packed(history: &str) -> Vec<u32> {
        let call = |name: char| name as u32 - 'a' as u32;
        let word = |word: &str| -> Vec<u32> {
            if let Some(calls) = word
                .strip_prefix("A[")
                .and_then(|rest| rest.strip_suffix(']'))
            {
                let calls: Vec<u32> = calls.chars().map(call).collect();
                return [vec![1 + calls.len() as u32], calls].concat();
            }
            match word.chars().next() {
                Some('.') | None => vec![0],
                Some(name) => vec![1, call(name)],
            }
        };
        // The padding keeps the numbers of calls below the length.
        let words = history.split_whitespace().flat_map(word);
        words.chain([0; 26]).collect()
    }

    /// The repaired history, without the padding; missing results with an exclamation mark.
    fn repaired(history: &str) -> Option<String> {
        let packed = packed(history);
        let words: Vec<&str> = history.split_whitespace().collect();
        let plan = repair(&unpack(&packed)?)?;
        let shown = plan.iter().filter_map(|step| match *step {
            Step::Message(at) => words.get(at as usize).map(|word| (*word).to_owned()),
            Step::Missing(call) => char::from_u32(call + 'a' as u32).map(|name| format!("{name}!")),
        });
        Some(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn histories_in_order_stay() {
        for history in [
            "",
            ". .",
            "A[x] x .",
            "A[xy] y x A[x] x",
            "x . y",
            "A[x] x x y",
        ] {
            assert_eq!(repaired(history), None, "{history}");
        }
    }

    #[test]
    fn results_come_to_their_calls() {
        let cases = [
            ("A[x] . x", "A[x] x ."),
            ("A[xy] x . y .", "A[xy] x y . ."),
            ("A[xyx] . x x", "A[xyx] x y! . x"),
            ("A[x] A[yz] x y . z", "A[x] x A[yz] z y ."),
            ("A[x] .", "A[x] x! ."),
            ("A[x] . A[y] y .", "A[x] x! . A[y] y ."),
            ("x . A[x] .", "x . A[x] x ."),
            ("A[x] x A[x] .", "A[x] x A[x] x! ."),
            ("A[q] A[x] A[x] x x q", "A[q] q A[x] x A[x] x"),
        ];
        for (history, expected) in cases {
            assert_eq!(repaired(history).as_deref(), Some(expected), "{history}");
        }
    }

    #[test]
    fn malformed_numbers_are_refused() {
        for packed in [&[1][..], &[3, 0], &[1, 2], &[2, 7, 0], &[u32::MAX, 0]] {
            assert_eq!(unpack(packed), None, "{packed:?}");
        }
        assert_eq!(unpack(&[1, 1]), Some(vec![Message::Result(1)]));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_else_moves(
            history in prop::collection::vec(prop_oneof![
                Just(".".to_owned()),
                "[a-e]",
                "A\\[[a-e]{1,3}\\]",
            ], 0..24)
        ) {
            let packed = packed(&history.join(" "));
            let messages = unpack(&packed).unwrap();
            if let Some(plan) = repair(&messages) {
                let kept: Vec<u32> = plan.iter().filter_map(|step| match *step {
                    Step::Message(at) => Some(at),
                    Step::Missing(_) => None,
                }).collect();
                let mut distinct = kept.clone();
                distinct.sort_unstable();
                distinct.dedup();
                prop_assert_eq!(distinct.len(), messages.len());
                let others = kept
                    .into_iter()
                    .filter(|&at| !matches!(messages[at as usize], Message::Result(_)));
                prop_assert!(others.is_sorted());
            }
        }
    }
}
