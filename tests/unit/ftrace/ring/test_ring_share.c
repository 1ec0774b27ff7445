/* SPDX-License-Identifier: Apache-2.0 */
#include "client/producer/data_source.h"
#include "ftrace/ring/ring_config.h"
#include "unit/fixture.h"

#define SESSIONS 12

/* A sixteenth of the memory is 128 MiB for each of the 4 rings. */
static const struct ftrace_machine machine = {.ram_bytes = 8ull << 30, .cpus = 4};
static struct ring_share shares[SESSIONS];
static struct setup_errors errors;
static unsigned n;

SETUP
{
	n = 0;
}

TEARDOWN
{
	for (unsigned i = 0; i < SESSIONS; i++)
		ring_share_release(&shares[i]);
	setup_errors_deinit(&errors);
}

/* Returns the MiB of a ring of the next session. */
static unsigned take(uint32_t uid, uint32_t mib)
{
	uint32_t kb = mib * 1024;

	setup_errors_deinit(&errors);
	ring_share_reserve(&shares[n++], uid, &machine, &kb, &errors);
	return kb / 1024;
}

FIXTURE_TEST(sessions_of_one_user_share_an_eighth_of_the_memory)
{
	assert_int_equal(take(4242, 200), 200);
	assert_null(errors.failed);
	assert_int_equal(take(4242, 200), 56);
	assert_string_equal(
		errors.failed[0],
		"option:buffer_size_kb (204800: the rings of a user other than root may use 2/16 "
		"of the machine's memory; using 57344 KiB)");
	/* Nothing is left but what every session may have. */
	assert_int_equal(take(4242, 200), RING_SHARE_LEAST_KB / 1024);
	/* What a session gives back is for the others of the user. */
	ring_share_release(&shares[0]);
	assert_int_equal(take(4242, 4000), 198);
}

FIXTURE_TEST(all_users_leave_a_sixteenth_to_root)
{
	for (uint32_t uid = 1000; uid < 1004; uid++)
		take(uid, 4000);
	assert_string_equal(
		errors.failed[0],
		"option:buffer_size_kb (4096000: the rings of users other than root may use 3/16 "
		"of the machine's memory; using 2048 KiB)");
	assert_int_equal(take(CONSUMER_UNKNOWN, 4000), 2);
	assert_int_equal(take(0, 100), 100);
	assert_null(errors.failed);
}

FIXTURE_TEST(sessions_of_root_share_a_quarter_of_the_memory)
{
	assert_int_equal(take(0, 500), 500);
	assert_int_equal(take(0, 4000), 12);
	assert_string_equal(errors.failed[0],
			    "option:buffer_size_kb (4096000: the rings of all recordings may use "
			    "4/16 of the machine's memory; using 12288 KiB)");
	/* A user gets no more than root has left. */
	assert_int_equal(take(4242, 4000), 2);
}
