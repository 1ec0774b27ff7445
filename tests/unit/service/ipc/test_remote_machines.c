/* SPDX-License-Identifier: Apache-2.0 */

#include "service/ipc/ipc_peer.h"
#include "service/ipc/remote_machines.h"
#include "unit/fixture.h"

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

static void add_sync(uint32_t id, uint64_t time)
{
	struct ipc_peer p = relay(id, NULL);
	struct clock_sync s = {.client = {{.id = 6, .value = time}}, .n_client = 1};

	assert_int_equal(remote_machines_add_sync(&ms, &p, &s), 0);
}

FIXTURE_TEST(no_other_address_replaces_a_machine)
{
	struct ipc_peer other = relay(2000, (char *)"other");

	begin(1000, (char *)"one", "info");
	add_sync(1000, 5);
	other.machine_id = 1000;
	assert_int_equal(remote_machines_set_info(&ms, &other, "lie", 3), 0);
	assert_int_equal(ms.n, 2);
	assert_string_equal(find(1000)->name, "one");
	assert_memory_equal(find(1000)->system_info, "info", 4);
	assert_int_equal(find(1000)->n_syncs, 1);
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
	add_sync(7, 1);
	assert_int_equal(find(7)->synced_at, 0);
	add_sync(7, 2);
	assert_int_equal(find(7)->synced_at, 2);
	add_sync(7, 3);
	assert_int_equal(find(7)->synced_at, 2); /* reported once */
	assert_int_equal(ms.last, 2);
	/* Of a relay that begins anew the old ones say nothing. */
	begin(7, NULL, "");
	assert_int_equal(find(7)->n_syncs, 0);
	assert_int_equal(find(7)->synced_at, 0);
}

FIXTURE_TEST(newest_readings_stay)
{
	for (uint64_t i = 1; i <= MAX_CLOCK_SYNCS + 3; i++)
		add_sync(7, i);
	assert_int_equal(find(7)->n_syncs, MAX_CLOCK_SYNCS);
	for (uint64_t i = 0; i < MAX_CLOCK_SYNCS; i++)
		assert_int_equal(find(7)->syncs[i].client[0].value, 4 + i);
}

FIXTURE_TEST(the_one_told_of_longest_ago_goes)
{
	for (uint32_t id = 0; id < MAX_MACHINES_PER_ADDRESS; id++)
		begin(1000 + id, "m", "x");
	begin(2000, "of another address", "x");
	add_sync(1000, 1); /* so 1001 is */
	add_sync(1999, 1);
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
