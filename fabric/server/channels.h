/* SPDX-License-Identifier: MIT */
/** DOC: the eventfds of clients' event channels. See channels.c. */
#ifndef FABRIC_SERVER_CHANNELS_H
#define FABRIC_SERVER_CHANNELS_H

#include "fabric/core/fabric.h"

/** struct channel_watch - the holder of the token when channels_tick() last looked. */
struct channel_watch {
	u64 token;
	u64 at; /* when to look next, real time */
};

/** channel_is_eventfd() - whether a descriptor is an eventfd, as far as /proc says. */
bool channel_is_eventfd(int fd);
/** channel_add() - keep *@fd as a channel's eventfd, and set it to -1. Return: 0 or -EINVAL. */
int channel_add(struct client *cl, u32 chan, int *fd);
/** channel_del() - close the eventfd of a channel. Return: 0 or -ENOENT. */
int channel_del(struct client *cl, u32 chan);
/**
 * channels_tick() - free a holder of the token that has blocked on a full eventfd.
 * Return: when to call it again, in real time.
 */
u64 channels_tick(struct fabric *f);

#endif
