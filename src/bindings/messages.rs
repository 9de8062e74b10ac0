//! Plans for the conversion of a conversation for a model.

use napi::bindgen_prelude::Int32Array;
use napi_derive::napi;

use crate::messages::repair::{Step, repair, unpack};

/// Plans the order of tool calls and results. `packed` is as [`unpack`] takes it. The plan holds
/// positions of messages and, as `-1 - call`, results to be invented; `None` (`null`) means that the
/// list is in order.
#[napi(catch_unwind)]
pub fn plan_tool_results(packed: &[u32]) -> Option<Int32Array> {
    let plan = repair(&unpack(packed)?)?;
    let code = |step: &Step| match *step {
        Step::Message(at) => at.cast_signed(),
        Step::Missing(call) => -1 - call.cast_signed(),
    };
    Some(plan.iter().map(code).collect::<Vec<i32>>().into())
}
