/* SPDX-License-Identifier: MIT */
/** DOC: the contents of registered memory. */
#ifndef TRACES_RECORD_MEMORY_H
#define TRACES_RECORD_MEMORY_H

#include "traces/record/object.h"

/* --- memory.c --- */

/** rec_mr_new() - record the first contents of a new MR. @addr: 0: not the program's memory */
void rec_mr_new(struct rec_obj *o, u64 addr, u64 len, u64 iova, u64 access);
/**
 * rec_mr_final() - record the contents of an MR before it is deregistered, or at the end. @o: NULL:
 * unknown
 */
void rec_mr_final(struct rec_obj *o);
void rec_mr_free(struct rec_obj *o);
/** rec_mr_forget() - in a child of fork(): forget an MR of the parent. */
void rec_mr_forget(struct tap_obj *mr);
/** rec_mr_address() - the program's address for one in a work request. @mr: of its key, or NULL */
u64 rec_mr_address(const struct rec_obj *mr, u64 addr);
/**
 * rec_mem_scan_exposed() - record changes of memory that peers can read. @send: before a post,
 * which is frequent
 */
void rec_mem_scan_exposed(bool send);
/**
 * rec_mem_scan_rkey() - record changes of the target of a READ or an atomic, if it is memory of
 * this program: a program that talks to itself writes there without a call in between.
 */
void rec_mem_scan_rkey(u32 rkey, u64 addr, u64 len);
/**
 * rec_mem_scan_sge() - record changes of memory that is about to be sent. Return: whether the trace
 * has its contents.
 */
bool rec_mem_scan_sge(struct rec_obj *mr, u64 addr, u32 len);
/** rec_mem_landed() - a message was received at @addr, where memory now has @bytes. */
void rec_mem_landed(u64 addr, const u8 *bytes, u64 len);

/* --- mem_read.c --- */

/** rec_mem_read() - copy the program's memory. Return: false: it is unreadable. */
bool rec_mem_read(void *to, u64 addr, size_t len);
/** rec_mem_crc() - continue a CRC with the program's memory; unreadable memory counts as zeros. */
u32 rec_mem_crc(u32 before, u64 addr, u64 len);
/** rec_mem_is_readable() - whether all of the memory is readable. */
bool rec_mem_is_readable(u64 addr, u64 len);
/**
 * rec_mem_untouched_bytes() - how many bytes from @addr on, at most @len, were never touched: they
 * are zero, and reading would allocate them. For on-demand MRs.
 */
size_t rec_mem_untouched_bytes(u64 addr, size_t len);

#endif
