/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the shim exports. Everything else is hidden (-fvisibility=hidden).
 */
#ifndef LIBSHIM_INTERPOSE_EXPORT_H
#define LIBSHIM_INTERPOSE_EXPORT_H

#define SHIM_EXPORT __attribute__((visibility("default")))

#endif
