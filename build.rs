//! Passes the linker settings of Node-API addons to cargo.

fn main() {
    napi_build::setup();
}
