//! Entry kinds and message roles, as far as the store tells them apart.

/// The `type` of an entry. The numbers are the ones that cross the JavaScript boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum EntryKind {
    /// A kind this version does not know; kept and written back untouched.
    #[default]
    Unknown = 0,
    /// `message`
    Message = 1,
    /// `thinking_level_change`
    ThinkingLevelChange = 2,
    /// `model_change`
    ModelChange = 3,
    /// `context_change`
    ContextChange = 4,
    /// `service_tier_change`
    ServiceTierChange = 5,
    /// `compaction`
    Compaction = 6,
    /// `branch_summary`
    BranchSummary = 7,
    /// `custom`
    Custom = 8,
    /// `custom_message`
    CustomMessage = 9,
    /// `label`
    Label = 10,
    /// `ttsr_injection`
    TtsrInjection = 11,
    /// `mcp_tool_selection`
    McpToolSelection = 12,
    /// `session_init`
    SessionInit = 13,
    /// `mode_change`
    ModeChange = 14,
}

impl EntryKind {
    /// All kinds with their names on disk.
    const NAMES: [(&'static str, Self); 14] = [
        ("message", Self::Message),
        ("thinking_level_change", Self::ThinkingLevelChange),
        ("model_change", Self::ModelChange),
        ("context_change", Self::ContextChange),
        ("service_tier_change", Self::ServiceTierChange),
        ("compaction", Self::Compaction),
        ("branch_summary", Self::BranchSummary),
        ("custom", Self::Custom),
        ("custom_message", Self::CustomMessage),
        ("label", Self::Label),
        ("ttsr_injection", Self::TtsrInjection),
        ("mcp_tool_selection", Self::McpToolSelection),
        ("session_init", Self::SessionInit),
        ("mode_change", Self::ModeChange),
    ];

    /// The kind of a `type` string.
    pub fn from_name(name: &[u8]) -> Self {
        Self::NAMES
            .iter()
            .find(|(known, _)| known.as_bytes() == name)
            .map_or(Self::Unknown, |&(_, kind)| kind)
    }

    /// The kind behind a boundary number; unknown numbers are unknown kinds.
    pub fn from_code(code: u8) -> Self {
        Self::NAMES
            .iter()
            .find(|(_, kind)| *kind as u8 == code)
            .map_or(Self::Unknown, |&(_, kind)| kind)
    }
}

/// The `role` of a message. The numbers cross the JavaScript boundary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Role {
    /// Not a message, or a message without a role string.
    #[default]
    None = 0,
    /// `user`
    User = 1,
    /// `assistant`
    Assistant = 2,
    /// `toolResult`
    ToolResult = 3,
    /// `hookMessage`, the name of `custom` before format version 3.
    HookMessage = 4,
    /// Any other string.
    Other = 5,
}

impl Role {
    /// The role of a `role` string.
    pub fn from_name(name: &[u8]) -> Self {
        match name {
            b"user" => Self::User,
            b"assistant" => Self::Assistant,
            b"toolResult" => Self::ToolResult,
            b"hookMessage" => Self::HookMessage,
            _ => Self::Other,
        }
    }

    /// The role behind a boundary number.
    pub fn from_code(code: u8) -> Self {
        match code {
            1 => Self::User,
            2 => Self::Assistant,
            3 => Self::ToolResult,
            4 => Self::HookMessage,
            5 => Self::Other,
            _ => Self::None,
        }
    }
}
