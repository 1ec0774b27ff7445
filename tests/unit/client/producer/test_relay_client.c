/* SPDX-License-Identifier: Apache-2.0 */

#include "base/core/clock.h"
#include "client/loop/event_base_loop.h"
#include "client/producer/relay_client.h"
#include "ipc/relay_port.pb-c.h"
#include "unit/fake_port.h"
#include "unit/test.h"

static const struct frame_method methods[] = {{1, "InitRelay"}, {2, "SyncClock"}};

struct fixture {
	struct event_base *loop;
	struct io_loop *io;
	struct fake_port port;
	struct relay_client *link;
	bool refuses_clocks;
	Pb__InitRelayRequest *init;
	Pb__SyncClockRequest *syncs[2]; /* the first one and the last one */
	unsigned n_syncs;
	bool jitters; /* of three calls in a row, one is answered at once */
	unsigned n_synced; /* callbacks */
	unsigned n_calls; /* of the last burst */
	int lost; /* 1: not lost */
};

static void on_synced(void *ctx, uint64_t fastest_ns, unsigned n_calls)
{
	struct fixture *x = ctx;

	assert_true(fastest_ns > 0);
	x->n_synced++;
	x->n_calls = n_calls;
}

static void on_lost(void *ctx, int error)
{
	struct fixture *x = ctx;

	x->lost = error;
	relay_client_free(x->link);
	x->link = NULL;
}

static const struct relay_client_ops ops = {.on_synced = on_synced, .on_lost = on_lost};

static void on_call(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
		    size_t len)
{
	struct fixture *x = p->ctx;

	if (strcmp(method, "InitRelay") == 0) {
		x->init = pb__init_relay_request__unpack(NULL, len, args);
	} else if (x->refuses_clocks) {
		fake_refuse(p, id);
		return;
	} else {
		Pb__SyncClockRequest **s = &x->syncs[x->n_syncs > 0];

		if (*s)
			pb__sync_clock_request__free_unpacked(*s, NULL);
		*s = pb__sync_clock_request__unpack(NULL, len, args);
		x->n_syncs++;
		if (x->jitters)
			usleep(x->n_syncs % 3 * 200);
	}
	fake_reply(p, id, false, NULL, 0);
}

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static void run(struct fixture *x)
{
	for (int turn = 0; turn < 200; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	x->loop = event_base_new();
	x->io = event_base_loop_new(x->loop);
	x->lost = 1;
	x->port.methods = methods;
	x->port.n_methods = 2;
	x->port.on_call = on_call;
	x->port.ctx = x;
	fake_port_open(&x->port, x->loop);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	relay_client_free(x->link);
	event_base_loop_free(x->io);
	fake_port_close(&x->port);
	event_base_free(x->loop);
	if (x->init)
		pb__init_relay_request__free_unpacked(x->init, NULL);
	for (size_t i = 0; i < 2 && x->syncs[i]; i++)
		pb__sync_clock_request__free_unpacked(x->syncs[i], NULL);
	free(x);
	return 0;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

/* Runs until the burst is over. */
static void run_burst(struct fixture *x)
{
	for (unsigned before = x->n_synced; x->n_synced == before;)
		event_base_loop(x->loop, EVLOOP_ONCE);
}

FIXTURE_TEST(machine_and_a_burst_of_clocks_are_sent)
{
	uint64_t before = clock_boot_ns();

	assert_int_equal(relay_client_new(x->io, x->port.address, &ops, x, &x->link), 0);
	run_burst(x);
	assert_memory_equal(x->port.calls, "InitRelay SyncClock SyncClock ", 30);
	assert_non_null(x->init->system_info->utsname);
	assert_int_equal(x->port.n_identities, 1);
	assert_int_equal(x->n_calls, x->n_syncs);
	assert_true(x->n_syncs >= 8);
	assert_int_equal(x->syncs[0]->phase, PB__SYNC_CLOCK_REQUEST__PHASE__PING);
	assert_int_equal(x->syncs[1]->phase, PB__SYNC_CLOCK_REQUEST__PHASE__UPDATE);
	assert_int_equal(x->syncs[0]->n_clocks, 4);
	assert_int_equal(x->syncs[0]->clocks[0]->clock_id, 6);
	assert_true(x->syncs[0]->clocks[0]->timestamp >= before);
	assert_true(x->syncs[1]->clocks[0]->timestamp >= x->syncs[0]->clocks[0]->timestamp);
	assert_true(x->syncs[1]->clocks[0]->timestamp <= clock_boot_ns());
}

FIXTURE_TEST(jitter_makes_the_burst_longer)
{
	x->jitters = true;
	assert_int_equal(relay_client_new(x->io, x->port.address, &ops, x, &x->link), 0);
	run_burst(x);
	assert_true(x->n_calls > 100 && x->n_calls <= 512);
}

FIXTURE_TEST(service_without_the_port_gets_nothing)
{
	x->port.refuse_bind = true;
	assert_int_equal(relay_client_new(x->io, x->port.address, &ops, x, &x->link), 0);
	run(x);
	assert_string_equal(x->port.calls, "");
	assert_true(x->port.hung_up);
	assert_int_equal(x->lost, -EPROTO);
}

FIXTURE_TEST(refused_clocks_are_not_sent_again)
{
	x->refuses_clocks = true;
	assert_int_equal(relay_client_new(x->io, x->port.address, &ops, x, &x->link), 0);
	run(x);
	assert_string_equal(x->port.calls, "InitRelay SyncClock ");
}

FIXTURE_TEST(service_may_go_away)
{
	assert_int_equal(relay_client_new(x->io, x->port.address, &ops, x, &x->link), 0);
	run_burst(x);
	fake_hang_up(&x->port);
	run(x);
	assert_int_equal(x->lost, 0);
	/* Nothing waits but the listener of the test, and the client's loop. */
	assert_int_equal(event_base_get_num_events(x->loop, EVENT_BASE_COUNT_ADDED), 2);
	relay_client_free(NULL);
	assert_int_equal(relay_client_new(x->io, "/tmp/no/such/directory/s", &ops, x, &x->link),
			 -ENOENT);
}
