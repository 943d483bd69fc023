/* SPDX-License-Identifier: MIT */
/* Fault rules: parsing, which of the matching packets they hit, and retransmission rounds. */
#include "fabric/core/fabric.h"
#include "fabric/fault/match.h"
#include "fabric/fault/packet.h"
#include "fabric/fault/parse.h"
#include "fabric/fault/table.h"
#include "tests/lib/engine/emu.h"

#include "tests/lib/c/cu.h"
#include "tests/lib/c/fault_text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_actions(void)
{
	static const char *const good[] = {
		"drop",
		"loss 1%",
		"corrupt 0.01%",
		"corrupt",
		"duplicate 0.1%",
		"delay 50us",
		"delay link=a-b 50us jitter=10us distribution=normal",
		"reorder 1% gap=5",
		"reorder 2ms",
		"rate 10gbit",
		"rnr node=server after=10 for=3",
		"rnr opcode=RDMA_READ timer=31",
		"nak code=REM_ACCESS_ERR opcode=RDMA_WRITE prob=0.01",
		"cm reject reason=28 nth=2",
		"cm drop REP for=2",
		"cm delay 2s REQ,REP",
		"cm duplicate",
		"cm mra node=a",
		"partition a|b at=1s",
		"partition a,b|c|*",
		"heal at=3s",
		"heal cut",
		"link down node=a",
		"link flap link=a-b period=10ms for=1s",
		"event port=1 IBV_EVENT_PORT_ERR at=2s",
		"fail call=ibv_reg_mr errno=ENOMEM after=100",
		"wc status=IBV_WC_RETRY_EXC_ERR opcode=RDMA_READ nth=3",
		"defer 1ms",
		"defer 1s posts=3 opcode=SEND,RDMA_WRITE type=RC conn=2 every=5",
		"cq hold",
		"cq hold 2ms cq=7 program=x nth=3",
		"cq delay 1ms opcode=RECV type=RC size=8.. every=3",
		"limit max_qp=4 node=a",
		"kill node=b signal=TERM",
		"pause program=x for=500ms",
		"resume pid=1",
		"  drop \t every=3  ",
		"a.b-c_1: drop",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		CU_ASSERT_TRUE(reads(good[i]));
}

static void test_values(void)
{
	CU_ASSERT_TRUE(reads("x: drop opcode=SEND_ONLY,IBV_WR_RDMA_READ conn=1 psn=+5 round=1"));
	CU_ASSERT_STRING_EQUAL(rule.name, "x");
	CU_ASSERT_STRING_EQUAL(rule.text,
			       "drop opcode=SEND_ONLY,IBV_WR_RDMA_READ conn=1 psn=+5 round=1");
	CU_ASSERT_EQUAL(rule.act, FA_DROP);
	CU_ASSERT_EQUAL(rule.on, FAULT_ON_WIRE);
	CU_ASSERT_EQUAL(rule.where.ops, BIT64(OP_SEND_ONLY) | BIT64(OP_READ_REQ));
	CU_ASSERT_EQUAL(rule.where.conn, 1);
	CU_ASSERT_TRUE(rule.where.psn_rel);
	CU_ASSERT_TRUE(rule.where.psn.min == 5 && rule.where.psn.max == 5);
	CU_ASSERT_TRUE(reads("drop psn=+5..+9 round=2.. size=..100"));
	CU_ASSERT_TRUE(rule.where.psn.min == 5 && rule.where.psn.max == 9);
	CU_ASSERT_TRUE(rule.where.round.min == 2 && rule.where.round.max == ~0u);
	CU_ASSERT_TRUE(rule.where.size.min == 0 && rule.where.size.max == 100);
	/* What answers a request has its PSN, and is not meant. */
	CU_ASSERT_FALSE(rule.where.ops >> OP_ACK & 1);
	CU_ASSERT_TRUE(rule.where.ops >> OP_SEND_MIDDLE & 1);
	CU_ASSERT_TRUE(reads("drop nth=3"));
	CU_ASSERT_TRUE(rule.when.after == 2 && rule.when.count == 1);
	CU_ASSERT_TRUE(reads("drop for=3 at=2s prob=50%"));
	CU_ASSERT_EQUAL(rule.when.count, 3);
	CU_ASSERT_EQUAL(rule.when.at_ns, 2000000000);
	CU_ASSERT_EQUAL(rule.when.prob, FAULT_PROB_ONE / 2);
	CU_ASSERT_TRUE(reads("drop for=3ms"));
	CU_ASSERT_TRUE(!rule.when.count && rule.when.for_ns == 3000000);
	CU_ASSERT_TRUE(reads("link down node=a nth=2 opcode=SEND"));
	CU_ASSERT_TRUE(rule.triggered);
	CU_ASSERT_TRUE(reads("link down node=a"));
	CU_ASSERT_FALSE(rule.triggered);
	CU_ASSERT_TRUE(reads("cm drop REQ,RTU"));
	CU_ASSERT_EQUAL(rule.where.ops, BIT64(OP_MAD));
	CU_ASSERT_EQUAL(rule.where.mads, 1 << 0 | 1 << 4);
}

static void test_words(void)
{
	char text[2 * FAULT_TEXT];

	CU_ASSERT_TRUE(refused("", "", "an action: drop, loss"));
	CU_ASSERT_TRUE(refused("a:", "", "an action"));
	CU_ASSERT_TRUE(refused("foo", "foo", "an action"));
	CU_ASSERT_TRUE(refused("-x: drop", "-x:", "a rule's name"));
	CU_ASSERT_TRUE(refused("drop foo", "foo", "KEY=VALUE"));
	CU_ASSERT_TRUE(refused("drop foo=1", "foo=1", "a key of drop: node, peer,"));
	CU_ASSERT_TRUE(refused("drop nth=1 nth=2", "nth=2", "nth= once"));
	CU_ASSERT_TRUE(refused("drop jitter=1us", "jitter=1us", "drop does not take it"));
	CU_ASSERT_TRUE(refused("loss", "loss", "P% after it"));
	CU_ASSERT_TRUE(refused("loss 1% 2%", "2%", "P% once"));
	CU_ASSERT_TRUE(refused("loss 0%", "0%", "more than 0% and at most 100%"));
	CU_ASSERT_TRUE(refused("loss 101%", "101%", "more than 0% and at most 100%"));
	CU_ASSERT_TRUE(refused("drop prob=0", "prob=0", "a probability"));
	CU_ASSERT_TRUE(refused("drop prob=x", "prob=x", "a probability"));
	CU_ASSERT_TRUE(refused("drop node=", "node=", "a value"));
	CU_ASSERT_TRUE(refused("drop node=-", "node=-", "a node's name"));
	CU_ASSERT_TRUE(refused("drop port=3", "port=3", "1 or 2"));
	CU_ASSERT_TRUE(refused("drop conn=0", "conn=0", "1 or more"));
	CU_ASSERT_TRUE(refused("drop psn=0x1000000", "psn=0x1000000", "a PSN"));
	CU_ASSERT_TRUE(refused("drop psn=9..5", "psn=9..5", "a PSN"));
	CU_ASSERT_TRUE(refused("drop round=0", "round=0", "a round"));
	CU_ASSERT_TRUE(refused("drop opcode=FOO", "opcode=FOO", "an opcode of packets"));
	CU_ASSERT_TRUE(refused("drop type=FOO", "type=FOO", "RC, UC"));
	CU_ASSERT_TRUE(refused("drop direction=up qp=1", "direction=up", "tx or rx"));
	CU_ASSERT_TRUE(refused("drop for=0", "for=0", "a count"));
	CU_ASSERT_TRUE(refused("drop at=5", "at=5", "its unit"));
	CU_ASSERT_TRUE(refused("delay 5", "5", "a time with its unit, as 50us"));
	CU_ASSERT_TRUE(refused("rate 5", "5", "a rate with its unit"));
	CU_ASSERT_TRUE(refused("cm foo", "foo", "after cm"));
	CU_ASSERT_TRUE(refused("cm drop FOO", "FOO", "a message"));
	CU_ASSERT_TRUE(refused("nak code=FOO", "code=FOO", "PSN_SEQ_ERR"));
	CU_ASSERT_TRUE(refused("event IBV_EVENT_FOO", "IBV_EVENT_FOO", "IBV_EVENT_"));
	CU_ASSERT_TRUE(refused("fail call=ibv_reg_mr errno=EFOO", "errno=EFOO", "an errno"));
	CU_ASSERT_TRUE(refused("drop\x01", "", "control characters"));
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	CU_ASSERT_TRUE(refused(text, "", "characters"));
}

/* As users get them wrong: the word, and what was expected. */
static void test_users(void)
{
	static const struct {
		const char *text, *word, *part;
	} lines[] = {
		{ "drop qp_type=UD", "qp_type=UD", "a key of drop: node, peer, link, device" },
		{ "drop Node=a", "Node=a", "a key of drop" },
		{ "drop opcode SEND", "opcode", "opcode=VALUE" },
		{ "drop SEND", "SEND", "KEY=VALUE; its keys: node, peer" },
		{ "drop opcode=", "opcode=", "a value" },
		{ "drop opcode=SEND,FOO", "opcode=SEND,FOO", "SEND_ONLY" },
		{ "drop opcode=ACK,", "opcode=ACK,", "SEND_ONLY" },
		{ "drop type=rd", "type=rd", "XRC_RECV" },
		{ "drop node=a b", "b", "KEY=VALUE" },
		{ "drop node=a/b", "node=a/b", "A-Z" },
		{ "drop link=a|b", "link=a|b", "'-' between" },
		{ "drop port=0", "port=0", "1 or 2" },
		{ "drop pid=0", "pid=0", "1 or more" },
		{ "drop qp=0x1000000", "qp=0x1000000", "at most 0xffffff" },
		{ "drop conn=+1", "conn=+1", "1 or more" },
		{ "drop psn=+", "psn=+", "+5" },
		{ "drop psn=5..+9", "psn=5..+9", "+5..+9" },
		{ "drop round=2..1", "round=2..1", "2..3" },
		{ "drop size=1k", "size=1k", "bytes" },
		{ "drop size=..", "size=..", "bytes" },
		{ "drop wr_id=3", "wr_id=3", "no wr_id=: drop" },
		{ "drop nth=0", "nth=0", "1 or more" },
		{ "drop after=-1", "after=-1", "0 or more" },
		{ "drop every=0", "every=0", "1 or more" },
		{ "drop prob=5", "prob=5", "at most 1" },
		{ "drop prob=200%", "prob=200%", "100%" },
		{ "drop for=5x", "for=5x", "ns, us, ms or s" },
		{ "drop at=99999999s", "at=99999999s", "at most 86400s" },
		{ "drop 1%", "1%", "prob=1%" },
		{ "loss 200%", "200%", "at most 100%" },
		{ "loss -1%", "-1%", "more than 0%" },
		{ "loss 0.1", "0.1", "a percentage with its sign" },
		{ "loss 1 %", "1", "a percentage with its sign" },
		{ "loss prob=0.1", "loss", "P% after it" },
		{ "delay", "delay", "a time after it" },
		{ "delay 0us", "0us", "more than 0" },
		{ "delay 11s", "11s", "at most 10s" },
		{ "delay 5us jitter=20s", "jitter=20s", "at most 10s" },
		{ "delay 5us distribution=foo", "distribution=foo", "normal" },
		{ "delay 1ms 200%", "200%", "at most 100%" },
		{ "reorder gap=0", "gap=0", "1 to 1000" },
		{ "rate 10GB", "10GB", "Gbit" },
		{ "rate", "rate", "a rate after it" },
		{ "rnr timer=1ms", "timer=1ms", "0 to 31" },
		{ "rnr qp_num=1", "qp_num=1", "a key of rnr: node" },
		{ "nak REM_ACCESS_ERR", "REM_ACCESS_ERR", "its keys: node, peer" },
		{ "nak", "nak", "code= after it" },
		{ "cm", "cm", "reject" },
		{ "cm reject 28", "28", "reason" },
		{ "cm reject reason=x", "reason=x", "at most 65535" },
		{ "cm delay REQ", "cm delay", "a time after it" },
		{ "cm mra REP", "cm mra", "REQ" },
		{ "cq drop", "drop", "hold or delay after cq" },
		{ "cq", "cq", "hold or delay after cq" },
		{ "cq delay", "cq delay", "a time after it" },
		{ "cq delay 1ms opcode=ACK", "opcode=", "an opcode of work requests" },
		{ "defer", "defer", "a time after it" },
		{ "defer 1ms posts=0", "posts=0", "a count of work requests" },
		{ "defer 1ms opcode=ACK", "opcode=", "an opcode of work requests" },
		{ "defer 1ms type=UD opcode=RDMA_READ", "opcode=", "queue pairs of these types" },
		{ "defer 1ms round=2", "round=2", "does not take it" },
		{ "cq hold qp=3", "qp=3", "does not take it" },
		{ "fail ibv_reg_mr ENOMEM", "ibv_reg_mr", "call, errno" },
		{ "fail call=ibv_foo errno=ENOMEM", "ibv_foo", "a call of libibverbs" },
		{ "fail call=ibv_reg_mr errno=12", "errno=12", "by its name" },
		{ "wc status=SUCCESS", "status=SUCCESS", "an error" },
		{ "wc RETRY_EXC_ERR", "RETRY_EXC_ERR", "status" },
		{ "limit max_qp", "max_qp", "max_qp=4" },
		{ "limit max_foo=3", "max_foo", "max_mr" },
		{ "event PORT_ERR nodee=a", "nodee=a", "a key of event: node" },
		{ "link sideways node=a", "sideways", "down, up, flap" },
		{ "link flap node=a period=1", "period=1", "at least 1ms" },
		{ "partition a|", "a|", "two groups or more" },
		{ "partition a|b|*|*", "a|b|*|*", "once, *" },
		{ "partition a", "a", "groups of nodes" },
		{ "heal for=1s", "for=1s", "no for=: heal" },
		{ "kill b", "b", "KEY=VALUE; its keys: node, program, pid" },
		{ "kill node=b signal=99", "signal=99", "1 to 64" },
		{ "drops", "drops", "an action" },
		{ "x : drop", "x", "an action" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		CU_ASSERT_TRUE(refused(lines[i].text, lines[i].word, lines[i].part));
}

static void test_contradictions(void)
{
	CU_ASSERT_TRUE(refused("drop type=UD conn=1", "type=", "RC, UC or XRC"));
	CU_ASSERT_TRUE(refused("drop type=UD psn=+1", "type=", "RC, UC or XRC"));
	CU_ASSERT_TRUE(refused("drop opcode=RDMA_READ type=UC", "opcode=", "of this type= have"));
	CU_ASSERT_TRUE(refused("drop opcode=LOCAL_INV", "opcode=", "an opcode of packets"));
	CU_ASSERT_TRUE(refused("drop opcode=MAD psn=1", "opcode=", "of connections"));
	CU_ASSERT_TRUE(refused("drop opcode=ACK size=1", "size=", "no payload"));
	CU_ASSERT_TRUE(refused("drop direction=tx", "direction=", "an end"));
	CU_ASSERT_TRUE(refused("drop nth=1 after=1", "nth=", "after="));
	CU_ASSERT_TRUE(refused("drop nth=1 for=2", "for=", "a time"));
	CU_ASSERT_TRUE(refused("loss 1% prob=0.1", "prob=", "not both"));
	CU_ASSERT_TRUE(refused("drop seed=1", "seed=", "something random"));
	CU_ASSERT_TRUE(refused("drop link=a-b node=c", "node=", "link=a-b"));
	CU_ASSERT_TRUE(refused("rnr type=UC", "type=", "RC, XRC or SRD"));
	CU_ASSERT_TRUE(refused("nak code=PSN_SEQ_ERR type=SRD", "type=", "RC or XRC"));
	CU_ASSERT_TRUE(refused("rnr opcode=SEND_MIDDLE", "opcode=", "not be ready"));
	CU_ASSERT_TRUE(refused("nak code=REM_ACCESS_ERR opcode=SEND", "opcode=", "a key"));
	CU_ASSERT_TRUE(refused("delay 1ms distribution=normal", "distribution=", "jitter="));
	CU_ASSERT_TRUE(refused("cm reject REP", "cm reject", "REQ or SIDR_REQ"));
	CU_ASSERT_TRUE(refused("partition a|a", "a", "one group"));
	CU_ASSERT_TRUE(refused("partition a,b", "a,b", "groups of nodes"));
	CU_ASSERT_TRUE(refused("partition a|b for=3", "for=", "a time"));
	CU_ASSERT_TRUE(refused("link down", "link", "one of node="));
	CU_ASSERT_TRUE(refused("link flap node=a", "flap", "period="));
	CU_ASSERT_TRUE(refused("link down node=a period=1s", "period=", "flap"));
	CU_ASSERT_TRUE(refused("link up node=a for=1s", "for=", "down or flap"));
	CU_ASSERT_TRUE(refused("kill", "kill", "one of node="));
	CU_ASSERT_TRUE(
		refused("wc opcode=SEND_ONLY status=LOC_LEN_ERR", "opcode=", "work requests"));
}

/* --- scenarios */

struct lines {
	char text[8][64];
	u32 at[8];
	u32 n;
};

static int each(void *ctx, const char *text, u32 line)
{
	struct lines *l = ctx;

	snprintf(l->text[l->n], sizeof(l->text[0]), "%s", text);
	l->at[l->n++] = line;
	return l->n == 8;
}

static void test_lines(void)
{
	static const char text[] =
		"# all of it\n\ndrop # one\nlink down node=a ; heal;\n  \nloss 1%";
	static char long_line[4 * FAULT_TEXT + 1];
	struct lines l = { .n = 0 };
	u32 line;

	CU_ASSERT_EQUAL(fault_parse_lines(text, strlen(text), &bad, &line, each, &l), 0);
	CU_ASSERT_EQUAL_FATAL(l.n, 4);
	CU_ASSERT_STRING_EQUAL(l.text[0], "drop ");
	CU_ASSERT_TRUE(l.at[0] == 3 && l.at[1] == 4 && l.at[2] == 4 && l.at[3] == 6);
	CU_ASSERT_STRING_EQUAL(l.text[3], "loss 1%");
	memset(long_line, 'x', sizeof(long_line));
	CU_ASSERT_EQUAL(fault_parse_lines(long_line, sizeof(long_line), &bad, &line, each, &l),
			-EINVAL);
	CU_ASSERT_EQUAL(line, 1);
}

/* --- turns */

static struct fabric *fabric;

/* The ordinals, from 1, of those of @n packets that the rule hits. */
static void hits_of(const char *text, u32 n, char *out)
{
	struct fault_pkt p = { .op = OP_SEND_ONLY, .types = 1 << QPT_RC, .conn = 1, .round = 1 };
	struct fault_rule *r = &fabric->faults->rule[0];
	u32 i, at;

	out[0] = '\0';
	CU_ASSERT_TRUE_FATAL(reads(text));
	*r = rule;
	r->id = 1;
	r->until = FAULT_NEVER;
	for (i = 1; i <= n; i++) {
		at = 0;
		p.psn = p.rel = i;
		if (fault_match_wire(fabric, &p, ~0u, &at))
			sprintf(out + strlen(out), "%s%u", out[0] ? " " : "", i);
	}
	CU_ASSERT_EQUAL(r->seen, n);
}

static u64 no_time(void *ctx)
{
	(void)ctx;
	return 1;
}

static void make_fabric(void)
{
	static struct engine_ops ops = { .now = no_time };

	fabric = calloc(1, sizeof(*fabric));
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric);
	fabric->hca = calloc(1, sizeof(*fabric->hca));
	CU_ASSERT_PTR_NOT_NULL_FATAL(fabric->hca);
	fabric->hca->n_devs = fabric->hca->n_nodes = 1;
	fabric->engine.hca = fabric->hca;
	fabric->engine.ops = &ops;
	CU_ASSERT_EQUAL_FATAL(fault_table_make(fabric), 0);
	fabric->faults->high = 1;
}

static void test_turns(void)
{
	char got[4096], again[4096];

	make_fabric();
	hits_of("drop", 3, got);
	CU_ASSERT_STRING_EQUAL(got, "1 2 3");
	hits_of("drop nth=3", 9, got);
	CU_ASSERT_STRING_EQUAL(got, "3");
	hits_of("drop after=2 for=3", 9, got);
	CU_ASSERT_STRING_EQUAL(got, "3 4 5");
	hits_of("drop after=1 every=3", 9, got);
	CU_ASSERT_STRING_EQUAL(got, "2 5 8");
	hits_of("drop every=2 for=2", 9, got);
	CU_ASSERT_STRING_EQUAL(got, "1 3");
	hits_of("drop prob=0.2", 200, got);
	hits_of("drop prob=0.2", 200, again);
	CU_ASSERT_STRING_EQUAL(got, again);
	CU_ASSERT_TRUE(strlen(got) > 40 && strlen(got) < 300);
	hits_of("drop prob=0.2 seed=99", 200, again);
	CU_ASSERT_STRING_NOT_EQUAL(got, again);
	/* Packets that no rule checks are not counted. */
	CU_ASSERT_TRUE_FATAL(reads("drop round=2"));
	fabric->faults->rule[0] = rule;
	fabric->faults->rule[0].id = 1;
	CU_ASSERT_EQUAL(fabric->faults->rule[0].seen, 0);
}

/* --- rounds */

static u32 send_psns(struct pkt_rounds *r, u32 from, u32 to)
{
	u32 round = 0, i;

	for (i = from; i < to; i++)
		round = fault_rounds_next(r, i & IB_PSN_MASK);
	return round;
}

static void test_rounds(void)
{
	struct pkt_rounds r = { 0 };

	CU_ASSERT_EQUAL(send_psns(&r, 100, 200), 1);
	CU_ASSERT_EQUAL(fault_rounds_next(&r, 150), 2);
	CU_ASSERT_EQUAL(send_psns(&r, 151, 200), 2);
	CU_ASSERT_EQUAL(send_psns(&r, 200, 220), 1);
	CU_ASSERT_EQUAL(fault_rounds_next(&r, 160), 3);
	CU_ASSERT_EQUAL(fault_rounds_next(&r, 161), 3);
	CU_ASSERT_EQUAL(send_psns(&r, 162, 205), 2);
	CU_ASSERT_EQUAL(fault_rounds_next(&r, 120), 2);
	/* Sequence numbers come round. */
	memset(&r, 0, sizeof(r));
	CU_ASSERT_EQUAL(send_psns(&r, 0xfffff0, 0x1000010), 1);
	CU_ASSERT_EQUAL(fault_rounds_next(&r, 0xfffffe), 2);
	CU_ASSERT_EQUAL(send_psns(&r, 0xffffff, 0x1000010), 2);
	CU_ASSERT_EQUAL(send_psns(&r, 0x1000010, 0x1000020), 1);
}

/* Against one counter for each: it never says less, and never the same twice of one packet. */
static void test_rounds_random(void)
{
	enum { PSNS = 400 };
	u32 times[PSNS] = { 0 }, last[PSNS] = { 0 }, i, psn, round;
	struct pkt_rounds r = { 0 };
	u32 next = 0, top = 0;
	u64 seed = 3;
	bool wrong = false;

	for (i = 0; i < 20000 && top < PSNS; i++) {
		if (next > 5 && !(emu_rnd(&seed) % 12))
			next -= (u32)(emu_rnd(&seed) % 6);
		psn = next++;
		top = next > top ? next : top;
		if (psn >= PSNS)
			break;
		round = fault_rounds_next(&r, psn);
		times[psn]++;
		wrong |= round < times[psn] || round <= last[psn];
		last[psn] = round;
	}
	CU_ASSERT_FALSE(wrong);
	CU_ASSERT_EQUAL(top, PSNS);
}

static const struct cu_test tests[] = {
	{ "actions", test_actions },
	{ "values", test_values },
	{ "words that are refused", test_words },
	{ "words as users get them wrong", test_users },
	{ "contradictions", test_contradictions },
	{ "scenarios", test_lines },
	{ "which hit", test_turns },
	{ "rounds", test_rounds },
	{ "rounds, at random", test_rounds_random },
	{ NULL, NULL },
};

int main(void)
{
	return cu_run("fault", tests);
}
