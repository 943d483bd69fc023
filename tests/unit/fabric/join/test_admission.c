/* SPDX-License-Identifier: MIT */
/* Which strangers make room, when they take places and say nothing. See tests/lib/mesh/world.h. */
#include "tests/lib/c/cu.h"
#include "tests/lib/mesh/peer.h"

#define FAR    1u /* an address of another host; so are those after it */
#define SHARE  (JOIN_MAX_EARLIES / 2) /* that an address has at most */
#define CALM   (SHARE / 2) /* up to here no connection goes at random */
#define KNOCKS 400u

/* All strangers that have come, in that order. NULL: it has gone. */
static struct world_sock *guest[KNOCKS + 1];
static u32 n_guests;

static void begin(void)
{
	world_make();
	n_guests = 0;
}

static void end(void)
{
	CU_ASSERT_TRUE(world_audit());
	world_reset();
}

/* Note who has gone. Return: how many. */
static u32 guests_check(void)
{
	u32 i, gone = 0;

	for (i = 0; i < n_guests; i++)
		if (guest[i] && !world_conn(guest[i])) {
			guest[i] = NULL;
			gone++;
		}
	return gone;
}

/* A stranger comes. Return: how many have gone, which it is not one of. */
static u32 stranger_comes(u32 from)
{
	struct world_sock *s = world_knock(from);

	CU_ASSERT_PTR_NOT_NULL_FATAL(s);
	/* Other numbers for each: the world's change with keys only. */
	world.n_random++;
	world_turn(NSEC_PER_MSEC / 10);
	CU_ASSERT_PTR_NOT_NULL(world_conn(s));
	CU_ASSERT_FATAL(n_guests < KNOCKS);
	guest[n_guests++] = s;
	return guests_check();
}

static u32 guests_count(void)
{
	u32 i, n = 0;

	for (i = 0; i < n_guests; i++)
		n += !!guest[i];
	return n;
}

/* The @nth of those that are still there, from 0. */
static u32 guest_nth(u32 nth)
{
	u32 i;

	for (i = 0; i < n_guests; i++)
		if (guest[i] && !nth--)
			return i;
	return KNOCKS;
}

/* They come until their address has its share. Return: how many have gone meanwhile. */
static u32 share_fill(u32 from)
{
	u32 gone = 0;

	while (guests_count() < SHARE)
		gone += stranger_comes(from);
	return gone;
}

static void test_oldest_of_an_address_makes_room(void)
{
	u32 oldest, i;

	begin();
	share_fill(FAR);
	for (i = 0; i < SHARE; i++) {
		oldest = guest_nth(0);
		CU_ASSERT_EQUAL(stranger_comes(FAR), 1);
		CU_ASSERT_PTR_NULL(guest[oldest]);
		CU_ASSERT_EQUAL(guests_count(), SHARE);
	}
	end();
}

static void test_some_go_before_the_share_is_full(void)
{
	u32 i;

	begin();
	for (i = 0; i < CALM; i++)
		CU_ASSERT_EQUAL(stranger_comes(FAR), 0);
	CU_ASSERT(share_fill(FAR) > 0);
	end();
}

static void test_one_that_has_greeted_goes_last(void)
{
	u32 first, second;

	begin();
	share_fill(FAR);
	first = guest_nth(0);
	second = guest_nth(1);
	peer_greet(guest[first], 0, JOIN_F_AES, 0);
	world_turn(NSEC_PER_MSEC / 10);
	CU_ASSERT_EQUAL(stranger_comes(FAR), 1);
	CU_ASSERT_PTR_NOT_NULL(guest[first]);
	CU_ASSERT_PTR_NULL(guest[second]);
	end();
}

/* As many as there are places, from addresses with few of them each. */
static void places_fill(void)
{
	u32 i;

	for (i = 0; i < JOIN_MAX_EARLIES; i++)
		CU_ASSERT_EQUAL(stranger_comes(FAR + i / CALM), 0);
}

static void test_oldest_of_the_address_with_most_makes_room(void)
{
	begin();
	places_fill();
	CU_ASSERT_EQUAL(stranger_comes(FAR + JOIN_MAX_EARLIES / CALM), 1);
	CU_ASSERT_PTR_NULL(guest[0]);
	CU_ASSERT_EQUAL(guests_count(), JOIN_MAX_EARLIES);
	end();
}

static void test_address_of_a_member_has_places_of_its_own(void)
{
	const u32 from = FAR + JOIN_MAX_EARLIES / CALM;

	begin();
	CU_ASSERT_PTR_NOT_NULL(peer_join(from, 0, JOIN_F_AES));
	places_fill();
	CU_ASSERT_EQUAL(stranger_comes(from), 0);
	CU_ASSERT_EQUAL(guests_count(), JOIN_MAX_EARLIES + 1);
	end();
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "the oldest of an address makes room", test_oldest_of_an_address_makes_room },
		{ "some go before the share is full", test_some_go_before_the_share_is_full },
		{ "one that has greeted goes last", test_one_that_has_greeted_goes_last },
		{ "the oldest of the address with most makes room",
		  test_oldest_of_the_address_with_most_makes_room },
		{ "the address of a member has places of its own",
		  test_address_of_a_member_has_places_of_its_own },
		{ NULL, NULL },
	};

	return cu_run("admission", tests);
}
