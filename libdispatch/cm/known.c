/* SPDX-License-Identifier: MIT */
/*
 * The identifiers, channels and events that the program has from the dispatcher. Others are the
 * real library's own.
 */
#include "libdispatch/cm/known.h"

#include <pthread.h>

#define BUCKETS 1024u

static struct cm_known *buckets[BUCKETS];
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static struct cm_known **bucket_of(const void *object)
{
	/* Objects are at least 16 bytes apart; their pages are in the upper bits. */
	uintptr_t key = (uintptr_t)object >> 4;

	return &buckets[(key ^ key >> 10) % BUCKETS];
}

void cm_known_add(struct cm_known *known)
{
	struct cm_known **at = bucket_of(known->object);

	pthread_rwlock_wrlock(&lock);
	known->next = *at;
	*at = known;
	pthread_rwlock_unlock(&lock);
}

void cm_known_remove(struct cm_known *known)
{
	struct cm_known **at = bucket_of(known->object);

	pthread_rwlock_wrlock(&lock);
	while (*at && *at != known)
		at = &(*at)->next;
	if (*at)
		*at = known->next;
	pthread_rwlock_unlock(&lock);
}

static bool object_is_known(const void *object)
{
	const struct cm_known *k;

	pthread_rwlock_rdlock(&lock);
	for (k = *bucket_of(object); k && k->object != object; k = k->next)
		;
	pthread_rwlock_unlock(&lock);
	return k;
}

enum cm_side cm_side_of(const void *object)
{
	enum cm_side within = cm_side_within();

	if (within != SIDE_NONE)
		return within;
	return object_is_known(object) ? SIDE_NONE : SIDE_REAL;
}
