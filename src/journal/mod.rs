//! The JSONL file of a session: reading it into an index, and writing it without losing a line.
//!
//! | module | what it does |
//! |---|---|
//! | [`header`] | changing the header in place |
//! | [`lines`] | streams a file and yields its JSON values with their places |
//! | [`head`] | reads the few fields of a value that the index needs |
//! | [`verdict`] | what a value is, decided without knowing the others |
//! | [`ahead`] | judges long files on several threads |
//! | [`load`] | all together: file in, tree and text table out |
//! | [`tail`] | the end of a long file first, the rest behind it |
//! | [`texts`] | where the text of each loaded entry is, and reading it back |
//! | [`adapt`] | what must be changed in a loaded text before anybody sees it |
//! | [`values`] | all values of a text, for callers that want them raw |
//! | [`walk`] | rewrites chosen strings and members at any depth |
//! | [`persist`] | the transforms applied before a text is written |
//! | [`resolve`] | blob references back to their content |
//! | [`writer`] | appending, with rollback |
//! | [`rewrite`] | replacing the file as a whole |
//! | [`records`] | the records of a part of a file, told apart roughly |
//! | [`merge`] | what a file holds that is about to be replaced |
//! | [`succession`] | one file takes the place of another while others append |
//! | [`queue`] | one ordered writer per session |

pub mod adapt;
pub mod ahead;
pub mod head;
pub mod header;
pub mod lines;
pub mod load;
pub mod merge;
pub mod outline;
pub mod persist;
pub mod queue;
pub mod records;
pub mod resolve;
pub mod rewrite;
pub mod succession;
pub mod tail;
pub mod texts;
pub mod values;
pub mod verdict;
pub mod walk;
pub mod writer;
