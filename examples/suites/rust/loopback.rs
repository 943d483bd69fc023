// SPDX-License-Identifier: MIT
//! Writes into the process's own memory by RDMA, through foreign functions. Verbs are macros and inline functions in
//! part, which Rust cannot call, so C code stands in between: loopback.c.

use std::ffi::c_void;
use std::io;
use std::os::raw::{c_int, c_uint};
use std::ptr;

/// struct loopback of loopback.h
#[repr(C)]
struct Loopback {
    context: *mut c_void,
    pd: *mut c_void,
    cq: *mut c_void,
    mr: *mut c_void,
    qp: [*mut c_void; 2],
    memory: [[u8; 64]; 2],
}

extern "C" {
    fn loopback_begin(l: *mut Loopback) -> c_int;
    fn loopback_write(l: *mut Loopback) -> c_uint;
    fn loopback_end(l: *mut Loopback);
}

pub const IBV_WC_SUCCESS: u32 = 0;
pub const IBV_WC_RETRY_EXC_ERR: u32 = 12;

/// Sends text to the peer's memory. Returns what is there afterwards, and the completion's status.
pub fn write(text: &str) -> io::Result<(String, u32)> {
    // On the heap: the device keeps pointers into it.
    let mut l = Box::new(Loopback {
        context: ptr::null_mut(),
        pd: ptr::null_mut(),
        cq: ptr::null_mut(),
        mr: ptr::null_mut(),
        qp: [ptr::null_mut(); 2],
        memory: [[0; 64]; 2],
    });
    let raw: *mut Loopback = &mut *l;
    unsafe {
        if loopback_begin(raw) != 0 {
            let err = io::Error::last_os_error();
            loopback_end(raw);
            return Err(err);
        }
        (&mut (*raw).memory[0])[..text.len()].copy_from_slice(text.as_bytes());
        let status = loopback_write(raw);
        loopback_end(raw);
        let end = (*raw).memory[1].iter().position(|b| *b == 0).unwrap_or(64);
        Ok((String::from_utf8_lossy(&(&(*raw).memory[1])[..end]).into_owned(), status))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;
    use std::process::Command;

    /// A fault rule for the duration of a test.
    struct Fault;

    fn rdmaemu() -> Command {
        Command::new(env::var("RDMAEMU").unwrap_or_else(|_| "rdmaemu".into()))
    }

    impl Fault {
        fn add(rule: &[&str]) -> Fault {
            let out = rdmaemu().args(["fault", "add"]).args(rule).output().unwrap();
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            Fault
        }
    }

    impl Drop for Fault {
        fn drop(&mut self) {
            let _ = rdmaemu().args(["fault", "clear"]).output();
        }
    }

    #[test]
    fn a_write_arrives() {
        assert_eq!(write("hello").unwrap(), ("hello".into(), IBV_WC_SUCCESS));
    }

    #[test]
    fn a_lost_packet_is_sent_again() {
        let _fault = Fault::add(&["drop", "opcode=RDMA_WRITE", "nth=1"]);
        assert_eq!(write("again").unwrap(), ("again".into(), IBV_WC_SUCCESS));
    }

    #[test]
    fn on_a_dead_link_the_retries_run_out() {
        let _fault = Fault::add(&["drop", "opcode=RDMA_WRITE"]);
        assert_eq!(write("lost").unwrap().1, IBV_WC_RETRY_EXC_ERR);
    }

    #[test]
    fn a_call_that_fails_is_an_error() {
        let _fault = Fault::add(&["fail", "call=ibv_reg_mr", "errno=ENOMEM", "nth=1"]);
        assert_eq!(write("nothing").unwrap_err().raw_os_error(), Some(12));
    }
}
