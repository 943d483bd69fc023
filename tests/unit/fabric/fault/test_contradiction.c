/* SPDX-License-Identifier: MIT */
/* Fault rules that can never hit are refused, and their neighbours that can are not. */
#include "fabric/fault/parse.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/c/fault_text.h"

#include <stdio.h>
#include <string.h>

/* Each word is right on its own, but nothing has all of them. */
static void test_never(void)
{
	static const struct {
		const char *rule, *word, *part;
	} never[] = {
		{ "drop size=4115", "size=", "at most 4096" },
		{ "drop size=5000.. type=RC", "size=", "one packet" },
		{ "drop opcode=SEND_MIDDLE size=1000", "size=", "the MTU" },
		{ "drop opcode=SEND_FIRST,ACK size=1000", "size=", "the MTU" },
		{ "drop opcode=RDMA_READ_RESPONSE_LAST size=0", "size=", "_LAST" },
		{ "kill node=a opcode=RDMA_WRITE_ONLY size=9000", "size=", "one packet" },
		{ "drop type=UC round=2", "round=", "once" },
		{ "drop type=RAW_PACKET psn=7", "psn=", "no PSN" },
		{ "drop type=RAW_PACKET direction=rx program=x", "direction=", "tx" },
		{ "drop opcode=MAD program=x", "program=", "not from programs" },
		{ "drop opcode=MAD pid=7", "pid=", "not from programs" },
		{ "drop opcode=MAD qp=0x11", "qp=", "QP 1" },
		{ "event QP_FATAL opcode=MAD", "opcode=", "is to have the event" },
		{ "drop qp=0", "qp=0", "1 or more" },
		{ "drop nth=1000000000000001", "nth=1000000000000001", "at most" },
		{ "drop after=18446744073709551615", "after=18446744073709551615", "at most" },
		{ "drop link=a-b node=a peer=a", "peer=", "the other node" },
		{ "drop link=a-b node=b direction=tx", "direction=", "the first node" },
		{ "drop link=a-b node=b direction=rx", "direction=", "the first node" },
		{ "drop link=a-b peer=a direction=tx", "direction=", "the first node" },
		{ "drop link=a-b peer=c", "peer=", "link=a-b" },
		{ "drop link=a node=b peer=c", "peer=", "the node of link=a" },
		{ "drop link=a node=b direction=tx", "direction=", "node=a" },
		{ "drop link=a node=b peer=a direction=rx", "direction=", "node=a" },
		{ "wc status=LOC_LEN_ERR type=UD conn=1", "conn=", "no connection" },
		{ "wc status=LOC_QP_OP_ERR opcode=LOCAL_INV size=1..", "size=", "no data" },
		{ "wc status=RNR_RETRY_EXC_ERR opcode=RDMA_WRITE", "opcode=", "can end with" },
		{ "wc status=REM_ACCESS_ERR opcode=RECV", "opcode=", "can end with" },
		{ "wc status=RETRY_EXC_ERR type=UD", "type=", "can complete with" },
		{ "event WQ_FATAL qp=0x11", "qp=", "an event of a QP" },
		{ "event RDMA_CM_EVENT_UNREACHABLE qp=0x11", "qp=", "an event of a QP" },
		{ "fail call=ibv_reg_mr errno=ENOTCONN", "ENOTCONN", "or `force`" },
	};
	static const char *const may[] = {
		"drop size=4096",
		"drop size=4114 type=RAW_PACKET",
		"drop size=4114",
		"drop opcode=SEND_MIDDLE size=1000..1024",
		"drop opcode=SEND_FIRST,SEND_LAST size=1000",
		"drop round=2",
		"drop type=UC round=1",
		"drop opcode=MAD qp=1",
		"drop opcode=MAD,SEND_ONLY program=x",
		"kill program=x opcode=SEND_ONLY",
		"event CQ_ERR node=a opcode=MAD",
		"drop link=a-b node=a peer=b",
		"drop link=a-b node=b peer=a",
		"drop link=a-b node=a direction=rx",
		"drop link=a-b peer=b direction=tx",
		"drop link=a-b-c node=a-b direction=tx",
		"drop link=a peer=b",
		"drop link=a peer=b direction=tx",
		"drop link=a node=b",
		"drop link=a node=b peer=a",
		"drop link=a node=a peer=b direction=rx",
		"wc status=LOC_LEN_ERR opcode=RECV size=100..",
		"wc status=RNR_RETRY_EXC_ERR",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(never); i++)
		CU_ASSERT_TRUE(refused(never[i].rule, never[i].word, never[i].part));
	for (i = 0; i < ARRAY_SIZE(may); i++)
		CU_ASSERT_TRUE(reads(may[i]));
}

static const struct cu_test tests[] = {
	{ "rules that can never hit", test_never },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("contradiction", tests);
}
