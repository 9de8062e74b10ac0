//! Which entries of a path make up the context for the model.
//!
//! The plan works on the kinds of the path's entries alone. Values (model names, summaries, the
//! messages themselves) are read by whoever holds the entries.

use super::{EntryKind, Role};

/// Kind and role of a path entry in one byte, as it crosses the JavaScript boundary:
/// `kind * 8 + role`.
pub fn pack(kind: EntryKind, role: Role) -> u8 {
    (kind as u8) << 3 | role as u8
}

fn unpack(code: u8) -> (EntryKind, Role) {
    (EntryKind::from_code(code >> 3), Role::from_code(code & 7))
}

/// Positions on the path that decide the settings. Each is the last of its kind.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `thinking_level_change`
    pub thinking: Option<u32>,
    /// `service_tier_change`
    pub service_tier: Option<u32>,
    /// `context_change`
    pub context: Option<u32>,
    /// `mcp_tool_selection`
    pub tool_selection: Option<u32>,
    /// `mode_change`
    pub mode: Option<u32>,
    /// `compaction`
    pub compaction: Option<u32>,
    /// Model changes and assistant messages in order; of assistants in a row only the last, since it
    /// overrides the others.
    pub models: Vec<u32>,
    /// All `ttsr_injection` entries, in order.
    pub injections: Vec<u32>,
}

/// Finds what decides the settings; the whole path counts, also what lies before a compaction.
pub fn settings(path: &[u8]) -> Settings {
    let mut found = Settings::default();
    let mut assistant = None;
    for (at, &code) in path.iter().enumerate() {
        let at = at as u32;
        match unpack(code) {
            (EntryKind::Message, Role::Assistant) => assistant = Some(at),
            (EntryKind::ModelChange, _) => {
                found.models.extend(assistant.take());
                found.models.push(at);
            }
            (EntryKind::ThinkingLevelChange, _) => found.thinking = Some(at),
            (EntryKind::ServiceTierChange, _) => found.service_tier = Some(at),
            (EntryKind::ContextChange, _) => found.context = Some(at),
            (EntryKind::McpToolSelection, _) => found.tool_selection = Some(at),
            (EntryKind::ModeChange, _) => found.mode = Some(at),
            (EntryKind::Compaction, _) => found.compaction = Some(at),
            (EntryKind::TtsrInjection, _) => found.injections.push(at),
            _ => {}
        }
    }
    found.models.extend(assistant);
    found
}

/// Positions of the entries that become messages.
///
/// Without a compaction: all of them. With one at `compaction`: those from `first_kept` up to it
/// (none when `first_kept` is `None` or lies behind it), then those after it.
pub fn messages(path: &[u8], compaction: Option<u32>, first_kept: Option<u32>) -> Vec<u32> {
    let emits = |code: u8| {
        matches!(
            unpack(code).0,
            EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary
        )
    };
    let start = match (compaction, first_kept) {
        (None, _) => 0,
        (Some(compaction), Some(kept)) if kept < compaction => kept,
        (Some(compaction), _) => compaction,
    };
    path.iter()
        .enumerate()
        .skip(start as usize)
        .filter(|&(_, &code)| emits(code))
        .map(|(at, _)| at as u32)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user() -> u8 {
        pack(EntryKind::Message, Role::User)
    }
    fn assistant() -> u8 {
        pack(EntryKind::Message, Role::Assistant)
    }
    fn kind(kind: EntryKind) -> u8 {
        pack(kind, Role::None)
    }

    #[test]
    fn codes_survive_the_byte() {
        for code in 0..=14 {
            let kind = EntryKind::from_code(code);
            assert_eq!(unpack(pack(kind, Role::Other)), (kind, Role::Other));
        }
    }

    #[test]
    fn assistants_in_a_row_count_once() {
        let path = [
            user(),
            assistant(),
            assistant(),
            kind(EntryKind::ModelChange),
            user(),
            assistant(),
        ];
        assert_eq!(settings(&path).models, [2, 3, 5]);
    }

    #[test]
    fn the_compaction_window() {
        let path = [
            user(),
            assistant(),
            kind(EntryKind::Compaction),
            user(),
            kind(EntryKind::Label),
            kind(EntryKind::Compaction),
            kind(EntryKind::CustomMessage),
            kind(EntryKind::BranchSummary),
        ];
        assert_eq!(settings(&path).compaction, Some(5));
        assert_eq!(messages(&path, Some(5), Some(1)), [1, 3, 6, 7]);
        assert_eq!(messages(&path, Some(5), None), [6, 7]);
        assert_eq!(messages(&path, Some(5), Some(6)), [6, 7]);
        assert_eq!(messages(&path, None, None), [0, 1, 3, 6, 7]);
    }
}
