/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burst of SyncClock: each call carries our clocks at the time of sending, and the service reads
 * its own clocks when it receives it. A call is sent when the answer to the one before has arrived,
 * so that the readings enclose one round trip.
 *
 *	bound --> InitRelay --> PING, PING ... UPDATE --> wait --> PING ...
 *
 * A delayed message makes a wrong offset. sondad uses the fastest message in each direction,
 * Perfetto's traced the mean of the last STEADY_CALLS. So a burst continues until STEADY_CALLS
 * calls in a row were about as fast as the fastest one, or until it reaches its limits. The last
 * call is the UPDATE.
 */
#include "client/producer/relay_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "client/loop/io_loop.h"
#include "client/transport/channel.h"
#include "common/builtin_clock.pb-c.h"
#include "gen/fields.h"
#include "ipc/relay_port.pb-c.h"
#include "wire/pb_enc.h"
#include "wire/system_info.h"

#define LEAST_CALLS 8
#define MOST_CALLS 512
#define MOST_NS (2 * NS_PER_S)
#define STEADY_CALLS 5
#define STEADY_NS 50000 /* a call is steady if it takes at most this much longer than the fastest */

struct relay_client {
	struct io_loop *loop; /* borrowed */
	const struct relay_client_ops *ops; /* borrowed */
	void *ctx;
	struct channel *channel; /* owned; NULL: lost */
	struct io_timer next_sync; /* armed between two bursts */
	/* of the burst: */
	uint64_t begin_ns, sent_ns; /* CLOCK_MONOTONIC */
	uint64_t fastest_ns;
	unsigned n_calls; /* that were answered */
	unsigned n_steady; /* the last ones, if they were about as fast as the fastest */
};

static const struct {
	uint32_t id; /* BuiltinClock */
	clockid_t clock;
} clocks[] = {
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_BOOTTIME, CLOCK_BOOTTIME},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_REALTIME, CLOCK_REALTIME},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC, CLOCK_MONOTONIC},
	{PB__BUILTIN_CLOCK__BUILTIN_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW},
};

/* Sends the clocks. If that fails, no further burst follows. */
static void send_clocks(struct relay_client *l, uint32_t phase, channel_reply_fn fn)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (pb_mem_init(&m) < 0)
		return;
	pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_PHASE, phase);
	l->sent_ns = clock_mono_ns();
	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		pb_enc_open(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCKS);
		pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCK_CLOCK_ID, clocks[i].id);
		pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_CLOCK_TIMESTAMP,
			   clock_ns(clocks[i].clock));
		pb_enc_close(&m.enc);
	}
	if (!m.failed)
		(void)channel_call(l->channel, "SyncClock", m.buf, pb_mem_len(&m), -1, fn, l);
}

static void store_round_trip(struct relay_client *l)
{
	uint64_t took = clock_mono_ns() - l->sent_ns;

	if (l->n_calls++ == 0 || took < l->fastest_ns) {
		/* The calls so far were compared with a slower one, so the steady ones are counted
		 * anew. */
		if (l->n_calls == 1 || l->fastest_ns - took > STEADY_NS)
			l->n_steady = 0;
		l->fastest_ns = took;
	}
	l->n_steady = took - l->fastest_ns <= STEADY_NS ? l->n_steady + 1 : 0;
}

static void on_burst_answered(void *ctx, const struct channel_reply *reply)
{
	struct relay_client *l = ctx;

	if (reply->error)
		return;
	store_round_trip(l);
	io_timer_arm(l->loop, &l->next_sync, RELAY_SYNC_PERIOD_MS);
	if (l->ops->on_synced)
		l->ops->on_synced(l->ctx, l->fastest_ns, l->n_calls);
}

static bool burst_is_enough(const struct relay_client *l)
{
	return l->n_calls + 1 >= MOST_CALLS || clock_mono_ns() - l->begin_ns >= MOST_NS ||
	       (l->n_calls + 1 >= LEAST_CALLS && l->n_steady + 1 >= STEADY_CALLS);
}

static void on_clocks_answered(void *ctx, const struct channel_reply *reply)
{
	struct relay_client *l = ctx;

	if (reply->error)
		return;
	store_round_trip(l);
	if (burst_is_enough(l))
		send_clocks(l, PB__SYNC_CLOCK_REQUEST__PHASE__UPDATE, on_burst_answered);
	else
		send_clocks(l, PB__SYNC_CLOCK_REQUEST__PHASE__PING, on_clocks_answered);
}

static void begin_clock_sync(struct relay_client *l)
{
	l->begin_ns = clock_mono_ns();
	l->n_calls = l->n_steady = 0;
	send_clocks(l, PB__SYNC_CLOCK_REQUEST__PHASE__PING, on_clocks_answered);
}

static void on_next_sync(struct io_timer *t)
{
	begin_clock_sync(container_of(t, struct relay_client, next_sync));
}

static void on_relay_reply(void *ctx, const struct channel_reply *reply)
{
	if (!reply->error)
		begin_clock_sync(ctx);
}

static void relay_client_on_bound(void *ctx)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	struct relay_client *l = ctx;

	if (pb_mem_init(&m) < 0)
		return;
	pb_enc_open(&m.enc, PB_INIT_RELAY_REQUEST_SYSTEM_INFO);
	system_info_put(&m.enc);
	pb_enc_close(&m.enc);
	if (!m.failed)
		(void)channel_call(l->channel, "InitRelay", m.buf, pb_mem_len(&m), -1,
				   on_relay_reply, l);
}

static void relay_client_on_lost(void *ctx, int error)
{
	struct relay_client *l = ctx;

	io_timer_disarm(l->loop, &l->next_sync);
	channel_close(TAKE_PTR(l->channel));
	if (l->ops->on_lost)
		l->ops->on_lost(l->ctx, error);
}

static const struct channel_ops channel_events = {.on_bound = relay_client_on_bound,
						  .on_lost = relay_client_on_lost};

int relay_client_new(struct io_loop *loop, const char *address, const struct relay_client_ops *ops,
		     void *ctx, struct relay_client **ret)
{
	const struct channel_target target = {.address = address, .of_program = true};
	struct relay_client *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->ops = ops;
	l->ctx = ctx;
	l->next_sync.fn = on_next_sync;
	r = channel_open(loop, &target, CHANNEL_RELAY, &channel_events, l, &l->channel);
	if (r < 0) {
		relay_client_free(l);
		return r;
	}
	*ret = l;
	return 0;
}

void relay_client_free(struct relay_client *l)
{
	if (!l)
		return;
	io_timer_disarm(l->loop, &l->next_sync);
	channel_close(l->channel);
	free(l);
}
