/* SPDX-License-Identifier: MIT */
/**
 * DOC: addresses and routes of identifiers.
 */
#ifndef LIBSHIM_CM_ADDR_H
#define LIBSHIM_CM_ADDR_H

#include "libshim/cm/cm.h"

/* Flags of struct rdma_addrinfo in newer headers than those we build with. */
#define UCMA_RAI_SA  0x10 /* RAI_SA: service records of InfiniBand */
#define UCMA_RAI_DNS 0x20 /* RAI_DNS */

/* --- addr.c --- */

/** ucma_addr_len() - length of an address of its family; 0: no address, or an unknown family. */
socklen_t ucma_addr_len(const struct sockaddr *sa);
/** ucma_addr_from_sa() - from a sockaddr of AF_INET or AF_INET6; otherwise @a becomes none. */
void ucma_addr_from_sa(struct cm_addr *a, const struct sockaddr *sa);
/** ucma_addr_to_sa() - to a sockaddr_storage, or a sockaddr_in6; unchanged if @a is none. */
void ucma_addr_to_sa(struct sockaddr_storage *sa, const struct cm_addr *a);
/** ucma_query_addr() - fill in the public addresses, GIDs, verbs, pd, port. 0, or -1 with errno. */
int ucma_query_addr(struct ucma_id *id);
/** ucma_query_route() - the same and the path records. Return: 0, or -1 with errno. */
int ucma_query_route(struct ucma_id *id);

#endif
