//! Where sessions live and how they are found.
//!
//! | module | what it does |
//! |---|---|
//! | [`dirs`] | base directories, from the environment |
//! | [`encode`] | names of per-project session directories |
//! | [`legacy`] | moves sessions from directories with earlier names |
//! | [`project`] | the session directory of a project, and whose sessions are in it |
//! | [`breadcrumb`] | the last session of each terminal |
//! | [`list`], [`describe`], [`row`] | all sessions of a directory with what a picker shows |
//! | [`cache`] | what files said when they were listed before |
//! | [`scan`] | reading many of them step by step: progress, cancelling, search |
//! | [`search`], [`fuzzy`] | what a search looks at, and how well it matches a query |
//! | [`recent`] | the newest sessions, from the beginnings of their files |
//! | [`resume`] | a session by a part of its id |
//! | [`files`], [`line`], [`lexical`], [`stamp`], [`text`] | what these share |
//!
//! Nothing here reads the environment: callers pass an [`Environment`] taken at the moment of the
//! call.

pub mod breadcrumb;
pub mod cache;
pub mod describe;
pub mod dirs;
pub mod encode;
pub mod files;
pub mod fuzzy;
pub mod legacy;
pub mod lexical;
pub mod line;
pub mod list;
pub mod project;
pub mod recent;
pub mod resume;
pub mod row;
pub mod scan;
pub mod search;
pub mod stamp;
pub mod text;

pub use dirs::{Environment, Place, TerminalVariables};
