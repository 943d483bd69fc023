/* SPDX-License-Identifier: MIT */
/** DOC: the wires that --roce names. */
#ifndef FABRIC_COMMON_WIRE_LIST_H
#define FABRIC_COMMON_WIRE_LIST_H

#include "emulator/peer.h"

#define WIRE_LIST_EXPECTED                                                                         \
	"IPv4 addresses or network interfaces of this host, at most 4, with commas between"

/** struct wire_list - addresses or interfaces, as they were written. */
struct wire_list {
	char name[HCA_WIRES][16];
	u32 n;
};

/** wire_list_parse() - Return: whether @text is such a list. */
bool wire_list_parse(struct wire_list *l, const char *text);

#endif
