/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A clock synchronisation has two calls. Each carries our clocks at the time of sending, and the
 * service reads its own clocks when it receives it. The second call is sent after the answer to the
 * first, so that the readings enclose one round trip.
 *
 *	bound --> InitRelay --> PING --> UPDATE --> wait --> PING ...
 */
#include "client/producer/relay_client.h"

#include <errno.h>
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

struct relay_client {
	struct io_loop *loop; /* borrowed */
	struct channel *channel; /* owned; NULL: lost */
	struct io_timer next_sync; /* armed between two synchronisations */
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

/* Sends the clocks. After a failure no further synchronisation follows. */
static void send_clocks(struct relay_client *l, uint32_t phase, channel_reply_fn fn)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};

	if (pb_mem_init(&m) < 0)
		return;
	pb_enc_u64(&m.enc, PB_SYNC_CLOCK_REQUEST_PHASE, phase);
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

static void on_clocks_updated(void *ctx, const struct channel_reply *reply)
{
	struct relay_client *l = ctx;

	if (!reply->error)
		io_timer_arm(l->loop, &l->next_sync, RELAY_SYNC_PERIOD_MS);
}

static void on_service_pinged(void *ctx, const struct channel_reply *reply)
{
	if (!reply->error)
		send_clocks(ctx, PB__SYNC_CLOCK_REQUEST__PHASE__UPDATE, on_clocks_updated);
}

static void begin_clock_sync(struct relay_client *l)
{
	send_clocks(l, PB__SYNC_CLOCK_REQUEST__PHASE__PING, on_service_pinged);
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

/* The owner has its own connection, which reports the loss. */
static void relay_client_on_lost(void *ctx, int error)
{
	struct relay_client *l = ctx;

	io_timer_disarm(l->loop, &l->next_sync);
	channel_close(TAKE_PTR(l->channel));
}

static const struct channel_ops ops = {.on_bound = relay_client_on_bound,
				       .on_lost = relay_client_on_lost};

int relay_client_new(struct io_loop *loop, const char *address, struct relay_client **ret)
{
	const struct channel_target target = {.address = address, .of_program = true};
	struct relay_client *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->next_sync.fn = on_next_sync;
	r = channel_open(loop, &target, CHANNEL_RELAY, &ops, l, &l->channel);
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
