/* SPDX-License-Identifier: MIT */
/** DOC: HOST:PORT as users write it for --listen and --join. */
#ifndef FABRIC_COMMON_HOST_PORT_H
#define FABRIC_COMMON_HOST_PORT_H

#include "emulator/types.h"

#include <stddef.h>

#define HOST_PORT_MAX 16u /* in one list */

/**
 * host_port_split() - split "HOST:PORT" or "[IPV6]:PORT", @n bytes at @s.
 * @host: receives the host, of @size bytes with its NUL
 * Return: whether the text is of that form.
 */
bool host_port_split(const char *s, size_t n, char *host, size_t size, char port[8]);
/** host_port_is_list() - whether a text is HOST:PORT, or with @many up to HOST_PORT_MAX of them. */
bool host_port_is_list(const char *s, bool many);

#endif
