/* SPDX-License-Identifier: Apache-2.0 */

#include "service/ipc/ipc_peer.h"
#include "service/ipc/remote_machines.h"
#include "unit/fixture.h"
#include "unit/rng.h"

static struct remote_machines ms;
static struct quota quota;

SETUP
{
	quota_init(&quota);
	remote_machines_init(&ms, &quota);
}

TEARDOWN
{
	remote_machines_deinit(&ms);
	quota_deinit(&quota);
	assert_int_equal(ms.n != 0, 0);
}

static const struct remote_machine *find(uint32_t id)
{
	const struct remote_machine *m;

	TAILQ_FOREACH (m, &ms.list, link)
		if (m->id == id)
			return m;
	return NULL;
}

/* Of 10.0.0.N, of which each tells of the machines N000 .. N999. */
static struct ipc_peer relay(uint32_t id, char *name)
{
	return (struct ipc_peer){
		.is_remote = true,
		.machine_id = id,
		.machine_name = name,
		.address = {.family = AF_INET, .ip = {10, 0, 0, (uint8_t)(id / 1000)}}};
}

static void begin(uint32_t id, char *name, const char *info)
{
	struct ipc_peer p = relay(id, name);

	assert_int_equal(remote_machines_set_info(&ms, &p, info, strlen(info)), 0);
}

/* A message that left at that time of the machine, and arrived at that time of ours. */
static void add_sync(uint32_t id, uint64_t client_ns, uint64_t host_ns, bool is_last)
{
	struct ipc_peer p = relay(id, NULL);
	struct clock_sync s = {.client = {{.id = 6, .value = client_ns}},
			       .n_client = 1,
			       .host.value[CLOCK_SNAPSHOT_BOOTTIME] = host_ns,
			       .is_last = is_last};

	assert_int_equal(remote_machines_add_sync(&ms, &p, &s), 0);
}

/* The offset that readers compute from the two pairs that a trace has. */
static int64_t offset_of(const struct remote_machine *m)
{
	uint64_t c = m->sync.client[0].value, h = m->sync.host.value[CLOCK_SNAPSHOT_BOOTTIME];

	return (int64_t)(c + m->round_trip_ns / 2 - h);
}

FIXTURE_TEST(no_other_address_replaces_a_machine)
{
	struct ipc_peer other = relay(2000, (char *)"other");

	begin(1000, (char *)"one", "info");
	add_sync(1000, 5, 5, false);
	other.machine_id = 1000;
	assert_int_equal(remote_machines_set_info(&ms, &other, "lie", 3), 0);
	assert_int_equal(ms.n, 2);
	assert_string_equal(find(1000)->name, "one");
	assert_memory_equal(find(1000)->system_info, "info", 4);
	assert_int_equal(find(1000)->burst.n, 1);
}

FIXTURE_TEST(relay_tells_name_and_info)
{
	const struct remote_machine *m;

	begin(7, "guest", "info");
	m = find(7);
	assert_non_null(m);
	assert_string_equal(m->name, "guest");
	assert_int_equal(m->system_info_len, 4);
	assert_memory_equal(m->system_info, "info", 4);
	assert_int_equal(m->info_at, ms.last);
	/* The next relay of the machine says it anew. */
	begin(7, NULL, "");
	assert_int_equal(ms.n, 1);
	assert_null(m->name);
	assert_int_equal(m->system_info_len, 0);
	assert_int_equal(m->info_at, 2);
}

FIXTURE_TEST(two_readings_tell_the_clocks)
{
	begin(7, NULL, "");
	add_sync(7, 100, 1100, false);
	assert_int_equal(find(7)->synced_at, 0);
	add_sync(7, 400, 1400, true);
	assert_int_equal(find(7)->synced_at, 2);
	assert_int_equal(find(7)->round_trip_ns, 300);
	assert_int_equal(offset_of(find(7)), -850);
	add_sync(7, 500, 1500, false);
	add_sync(7, 600, 1600, true);
	assert_int_equal(find(7)->round_trip_ns, 100);
	assert_int_equal(find(7)->synced_at, 2); /* reported once */
	assert_int_equal(ms.last, 2);
	/* Of a relay that begins anew the old ones say nothing. */
	begin(7, NULL, "");
	assert_int_equal(find(7)->synced_at, 0);
}

FIXTURE_TEST(burst_of_one_message_tells_nothing)
{
	add_sync(7, 100, 1100, true);
	add_sync(7, 200, 1200, true);
	assert_int_equal(find(7)->synced_at, 0);
}

FIXTURE_TEST(readings_without_boottime_are_refused)
{
	struct ipc_peer p = relay(7, NULL);
	struct clock_sync s = {.client = {{.id = 1, .value = 5}}, .n_client = 1};

	assert_int_equal(remote_machines_add_sync(&ms, &p, &s), -EINVAL);
	assert_int_equal(ms.n, 0);
}

/* The fastest message of each way counts, so delays of 0 to 10 ms are no errors of this size. */
FIXTURE_TEST(jitter_of_a_burst_cancels)
{
	const uint64_t ahead = 3600000000000; /* of the machine's clock */
	uint64_t seed = 1, now = 5000000000;

	for (int burst = 0; burst < 20; burst++) {
		for (int i = 0; i < 200; i++) {
			uint64_t sent = now + ahead;

			now += 100000 + rng_below(&seed, 10000000);
			add_sync(7, sent, now, i == 199);
			now += 100000 + rng_below(&seed, 10000000);
		}
		assert_true(llabs(offset_of(find(7)) - (int64_t)ahead) < 200000);
		now += 30000000000;
	}
}

/* Without an UPDATE, as after a lost connection. */
FIXTURE_TEST(long_burst_is_cut)
{
	add_sync(7, 1000, 1100, false);
	add_sync(7, 5000000000000, 5000001000000, false);
	assert_int_equal(find(7)->burst.n, 1);
	add_sync(7, 5000002000000, 5000003000000, true);
	assert_int_equal(find(7)->round_trip_ns, 2000000);
}

/* As a hostile relay sends them, or one whose clock was set. */
FIXTURE_TEST(impossible_times_give_no_negative_round_trip)
{
	add_sync(7, UINT64_MAX, 1, false);
	add_sync(7, 0, 2, true);
	assert_int_equal(find(7)->round_trip_ns, 1);
	add_sync(7, 100, 200, false);
	add_sync(7, 50, 300, true);
	assert_int_equal(find(7)->round_trip_ns, 0);
}

FIXTURE_TEST(machine_announced_longest_ago_is_replaced)
{
	for (uint32_t id = 0; id < MAX_MACHINES_PER_ADDRESS; id++)
		begin(1000 + id, "m", "x");
	begin(2000, "of another address", "x");
	add_sync(1000, 1, 1, false); /* so 1001 is */
	add_sync(1999, 1, 1, false);
	assert_int_equal(ms.n, MAX_MACHINES_PER_ADDRESS + 1);
	assert_non_null(find(1000));
	assert_null(find(1001));
	assert_non_null(find(1002));
	assert_non_null(find(1999));
	assert_non_null(find(2000));
	assert_int_equal(quota.held[QUOTA_MACHINES], MAX_MACHINES_PER_ADDRESS + 1);
	assert_int_equal(quota.refused[QUOTA_MACHINES], 1);
}

FIXTURE_TEST(an_address_with_few_machines_keeps_them)
{
	begin(1000, "m", "x"); /* the oldest of all */
	for (uint32_t id = 0; id < MAX_MACHINES_PER_ADDRESS; id++)
		for (uint32_t who = 2; who <= 5; who++)
			begin(who * 1000 + id, "m", "x");
	assert_true(ms.n <= MAX_MACHINES - MAX_MACHINES / 4);
	assert_non_null(find(1000));
	assert_true(quota.refused[QUOTA_MACHINES] > 0);
	assert_null(find(2000));
	begin(6000, "m", "x");
	assert_true(ms.n <= MAX_MACHINES - MAX_MACHINES / 4);
	assert_non_null(find(1000));
	assert_non_null(find(6000));
}
