/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the shim exports. Everything else is hidden (-fvisibility=hidden).
 */
#ifndef LIBSHIM_INTERPOSE_EXPORT_H
#define LIBSHIM_INTERPOSE_EXPORT_H

#define SHIM_EXPORT __attribute__((visibility("default")))

/* A variable of another file of the shim: it is addressed without the GOT. */
#define SHIM_HIDDEN __attribute__((visibility("hidden")))

#endif
