/* SPDX-License-Identifier: MIT */
/** DOC: what tests of lent memory share: which pages are lent, and what a peer finds there. */
#ifndef TESTS_LIB_C_VB_LENT_H
#define TESTS_LIB_C_VB_LENT_H

#include "tests/lib/c/vb.h"

/** vb_pages() - map @len bytes of private anonymous memory. */
uint8_t *vb_pages(size_t len, int prot);
/** vb_lent_bytes() - how many bytes of [at, at + len) show the program's memory file. */
size_t vb_lent_bytes(const void *at, size_t len);
/** vb_private_bytes() - how many show other mappings. @lines: receives the number of mappings */
size_t vb_private_bytes(const void *at, size_t len, int *lines);
/** vb_is_private() - whether all do. */
bool vb_is_private(const void *at, size_t len);
/** vb_give_back() - advice that changes nothing, before which lent pages become private. */
bool vb_give_back(void *at, size_t len);
/**
 * vb_peer_reaches() - whether a WRITE of side @peer reaches the 100 bytes at @at, and its READ
 * finds what this process writes there.
 */
bool vb_peer_reaches(struct vb_side *peer, uint32_t rkey, uint8_t *at);

#endif
