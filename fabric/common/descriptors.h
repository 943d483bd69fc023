/* SPDX-License-Identifier: MIT */
/** DOC: descriptors of a process that has just been forked. */
#ifndef FABRIC_COMMON_DESCRIPTORS_H
#define FABRIC_COMMON_DESCRIPTORS_H

/**
 * descriptors_close_from() - close all descriptors from number @first on, those of libraries
 * included. Only for a process without other threads, as after fork(2).
 */
void descriptors_close_from(int first);

#endif
