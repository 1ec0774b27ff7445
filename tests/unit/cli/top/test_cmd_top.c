// SPDX-License-Identifier: Apache-2.0
/* Ticks of sonda top, with a session that begins when the test says so. */

#include "unit/test.h"

#include <event2/event.h>

#include "base/core/clock.h"
#include "cli/top/top_session.h"
#include "gen/fields.h"
#include "wire/pb_mem.h"

#include "cli/top/cmd_top.c"

static unsigned begun_without_ebpf, begun_without_processes, asked;

int top_session_start(struct event_base *loop, const struct top_session_setup *setup,
		      const struct top_session_ops *ops, void *ctx, struct err_text *e,
		      struct top_session **ret)
{
	(void)loop, (void)setup, (void)ops, (void)ctx, (void)e, (void)ret;
	return -ENOSYS;
}

bool top_session_ask(struct top_session *s, bool flush)
{
	(void)s, (void)flush;
	asked++;
	return true;
}

int top_session_without_ebpf(struct top_session *s, struct err_text *e)
{
	(void)s, (void)e;
	begun_without_ebpf++;
	return 0;
}

int top_session_without_processes(struct top_session *s, struct err_text *e)
{
	(void)s, (void)e;
	begun_without_processes++;
	return 0;
}

void top_session_free(struct top_session *s)
{
	(void)s;
}

static void set_up(struct top *t)
{
	*t = (struct top){.options = {.period_ms = 500}};
	begun_without_ebpf = begun_without_processes = asked = 0;
	t->loop = event_base_new();
	assert_non_null(t->loop);
	t->tick = evtimer_new(t->loop, top_on_tick, t);
	assert_non_null(t->tick);
}

/* The session reports that a family is missing. */
static void lack(struct top *t, const char *family)
{
	struct pb_mem packet;
	struct pb_enc *e = &packet.enc;

	assert_int_equal(pb_mem_init(&packet), 0);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, clock_boot_ns());
	pb_enc_open(e, PB_TRACE_PACKET_EBPF_COUNTERS_STATS);
	pb_enc_open(e, PB_EBPF_COUNTERS_STATS_FAILURES);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, family);
	pb_enc_str(e, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, "the kernel has none");
	pb_enc_close(e);
	pb_enc_close(e);
	session_ops.on_packet(t, packet.buf, pb_mem_len(&packet));
	pb_mem_deinit(&packet);
}

static void tick(struct top *t)
{
	top_on_tick(-1, EV_TIMEOUT, t);
	assert_false(t->ended);
}

TEST(a_session_is_replaced_once_however_long_the_next_one_takes_to_begin)
{
	struct top t;

	set_up(&t);
	tick(&t);
	session_ops.on_began(&t, true);
	tick(&t);
	assert_int_equal(asked, 1);
	lack(&t, "processes");
	for (int i = 0; i < 5; i++)
		tick(&t);
	assert_int_equal(begun_without_processes, 1);
	assert_int_equal(asked, 1);
	session_ops.on_began(&t, true);
	tick(&t);
	assert_int_equal(asked, 2);
	assert_int_equal(begun_without_processes, 1);
	assert_int_equal(begun_without_ebpf, 0);
	top_clean_up(&t);
}

TEST(without_cpu_time_it_goes_on_without_ebpf_and_keeps_the_reason)
{
	struct top t;

	set_up(&t);
	session_ops.on_began(&t, true);
	lack(&t, "processes");
	lack(&t, "cpu_time");
	for (int i = 0; i < 5; i++)
		tick(&t);
	assert_int_equal(begun_without_ebpf, 1);
	assert_int_equal(begun_without_processes, 0);
	assert_string_equal(t.no_ebpf.s, "cpu_time: the kernel has none");
	top_clean_up(&t);
}
