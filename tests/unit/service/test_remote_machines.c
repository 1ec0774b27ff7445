/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "service/remote_machines.h"

static struct remote_machines ms;

static int setup(void **state)
{
	(void)state;
	remote_machines_init(&ms);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	remote_machines_deinit(&ms);
	return ms.n != 0;
}

static const struct remote_machine *find(uint32_t id)
{
	const struct remote_machine *m;

	TAILQ_FOREACH (m, &ms.list, link)
		if (m->id == id)
			return m;
	return NULL;
}

static void add_sync(uint32_t id, uint64_t time)
{
	struct clock_sync s = {.client = {{.id = 6, .value = time}}, .n_client = 1};

	assert_int_equal(remote_machines_add_sync(&ms, id, &s), 0);
}

static void relay_tells_name_and_info(void **state)
{
	const struct remote_machine *m;

	(void)state;
	assert_int_equal(remote_machines_begin(&ms, 7, "guest", "info", 4), 0);
	m = find(7);
	assert_non_null(m);
	assert_string_equal(m->name, "guest");
	assert_int_equal(m->system_info_len, 4);
	assert_memory_equal(m->system_info, "info", 4);
	assert_int_equal(m->info_at, ms.last);
	/* The next relay of the machine says it anew. */
	assert_int_equal(remote_machines_begin(&ms, 7, NULL, "", 0), 0);
	assert_int_equal(ms.n, 1);
	assert_null(m->name);
	assert_int_equal(m->system_info_len, 0);
	assert_int_equal(m->info_at, 2);
}

static void two_readings_tell_the_clocks(void **state)
{
	(void)state;
	assert_int_equal(remote_machines_begin(&ms, 7, NULL, "", 0), 0);
	add_sync(7, 1);
	assert_int_equal(find(7)->synced_at, 0);
	add_sync(7, 2);
	assert_int_equal(find(7)->synced_at, 2);
	add_sync(7, 3);
	assert_int_equal(find(7)->synced_at, 2); /* told once */
	assert_int_equal(ms.last, 2);
	/* Of a relay that begins anew the old ones say nothing. */
	assert_int_equal(remote_machines_begin(&ms, 7, NULL, "", 0), 0);
	assert_int_equal(find(7)->n_syncs, 0);
	assert_int_equal(find(7)->synced_at, 0);
}

static void newest_readings_stay(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= MAX_CLOCK_SYNCS + 3; i++)
		add_sync(7, i);
	assert_int_equal(find(7)->n_syncs, MAX_CLOCK_SYNCS);
	for (uint64_t i = 0; i < MAX_CLOCK_SYNCS; i++)
		assert_int_equal(find(7)->syncs[i].client[0].value, 4 + i);
}

static void the_one_told_of_longest_ago_goes(void **state)
{
	(void)state;
	for (uint32_t id = 1; id <= MAX_MACHINES; id++)
		assert_int_equal(remote_machines_begin(&ms, id, "m", "x", 1), 0);
	add_sync(1, 1); /* so 2 is */
	add_sync(1000, 1);
	assert_int_equal(ms.n, MAX_MACHINES);
	assert_non_null(find(1));
	assert_null(find(2));
	assert_non_null(find(3));
	assert_non_null(find(1000));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(relay_tells_name_and_info),
		TEST(two_readings_tell_the_clocks),
		TEST(newest_readings_stay),
		TEST(the_one_told_of_longest_ago_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
