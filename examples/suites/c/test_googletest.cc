/* SPDX-License-Identifier: MIT */
#include <gtest/gtest.h>

#define EXPECT(condition) ASSERT_TRUE(condition)
#include "cases.h"

TEST(Loopback, Write)
{
	case_write();
}

TEST(Loopback, LostPacket)
{
	case_lost_packet();
}

TEST(Loopback, DeadLink)
{
	case_dead_link();
}

TEST(Loopback, NoResources)
{
	case_no_resources();
}
