/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric's state, from JSON object to text.
 */
#ifndef FABRIC_SERVER_STATUS_H
#define FABRIC_SERVER_STATUS_H

#include "emulator/hca.h"

#include <json-c/json.h>
#include <stdio.h>

struct fabric;
struct client;
struct real_objects;

#define STATUS_PLACE 128u

/**
 * status_make() - the fabric's state, as a memfd.
 * @flags: PROTO_F_* of the request; become those of its answer
 * Return: the memfd or -errno.
 */
int status_make(struct fabric *f, u32 *flags);
/**
 * status_objects() - count the objects of a process.
 * @pid: as the process sees itself
 * Return: 0; -ESRCH: no client is that process, or it has ended.
 */
int status_objects(const struct fabric *f, u32 pid, u32 *n);
/** process_is_stopped() - whether that process is stopped (SIGSTOP, a debugger). */
bool process_is_stopped(s32 pid);
/** status_client() - the client that owns an object (number + 1), if it still exists. */
const struct client *status_client(const struct fabric *f, u32 owner);
/** status_cm_ids() - the identifiers of rdma_cm, including those that outlive their programs. */
struct json_object *status_cm_ids(const struct fabric *f);
/** status_cqs() - the completion queues, with the entries that their programs have not polled. */
struct json_object *status_cqs(struct fabric *f);
/** status_registered() - bytes of the memory regions of each client. */
void status_registered(const struct fabric *f, u64 bytes[HCA_MAX_CLIENTS]);
/** status_wires() - the wires of --roce and their counters. */
struct json_object *status_wires(const struct fabric *f);
/** status_members() - the members of the mesh; an empty array if the fabric is not joined. */
struct json_object *status_members(const struct fabric *f);
/** status_join() - this fabric as other members see it. Only for joined fabrics. */
struct json_object *status_join(const struct fabric *f);
/**
 * status_member_name() - the name of a member, by its number in struct hca_dev.member.
 * Return: the name; "?": the member is forgotten; NULL: the number is 0, this fabric's own.
 */
const char *status_member_name(const struct fabric *f, u32 number);

/* --- status_real.c --- */

/** status_real_objects() - what a program has on real devices. Return: NULL: on emulated ones. */
const struct real_objects *status_real_objects(const struct fabric *f, const struct client *cl);
/** status_real_add() - add that to the object of the program. */
void status_real_add(struct json_object *o, const struct real_objects *r);
/** status_real_qps() - append the queue pairs of all programs on real devices. */
void status_real_qps(struct json_object *all, const struct fabric *f);
/** status_place() - where the program of an object runs: its node, or its real devices. */
void status_place(struct json_object *o, char *text, size_t size);

/* --- status_text.c --- */

/** status_print_head() - the lines about the fabric itself, of the object that status.c gathers. */
void status_print_head(FILE *out, struct json_object *o);
/** status_print() - print that object as text, with all its details. */
void status_print(FILE *out, struct json_object *o);

/* --- status_short.c --- */

/** status_print_short() - likewise, as much as fits a screen. */
void status_print_short(FILE *out, struct json_object *o);

#endif
