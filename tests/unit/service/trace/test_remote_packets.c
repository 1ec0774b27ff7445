/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/remote_rig.h"
#include "unit/test.h"

#define ALL "buffers { size_kb: 64 } trace_all_machines: true "
#define INFO PB_TRACE_PACKET_SYSTEM_INFO
#define SYNC PB_TRACE_PACKET_REMOTE_CLOCK_SYNC

struct fixture {
	struct rig rig;
	struct peer *relay, *cons;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	remote_rig_init(&f->rig);
	f->relay = remote_rig_peer(&f->rig, 1);
	f->cons = rig_consumer(&f->rig);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rig_hang_up(&f->rig, f->relay);
	rig_hang_up(&f->rig, f->cons);
	remote_rig_deinit(&f->rig);
	free(f);
	return 0;
}

static void tell_all(struct fixture *f)
{
	peer_identify(f->relay, 0, 1, "a", "guest");
	assert_true(peer_accepted(f->relay, peer_init_relay(f->relay, "\x30\x80\x20", 3)));
	assert_true(peer_accepted(f->relay, peer_sync_clock(f->relay, 1, 6, 1, 100)));
	assert_true(peer_accepted(f->relay, peer_sync_clock(f->relay, 2, 6, 1, 200)));
}

/* How many packets of the field come from another machine; *ret is the last one's, if not NULL. */
static unsigned read_remote(struct fixture *f, uint32_t field, struct pb_field *ret)
{
	static struct peer_packets t;
	struct pb_field machine, found;
	unsigned n = 0;

	peer_packets_free(&t);
	assert_true(peer_read(f->cons, &t));
	for (size_t i = 0; i < t.n; i++) {
		if (!peer_packet_field(&t, i, PB_TRACE_PACKET_MACHINE_ID, &machine) ||
		    !peer_packet_field(&t, i, field, &found))
			continue;
		assert_int_equal(machine.u64, remote_rig_machine_id(1, "a"));
		n++;
		if (ret)
			*ret = found;
	}
	if (!ret)
		peer_packets_free(&t);
	return n;
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *f)

FIXTURE_TEST(trace_of_all_machines_has_their_info)
{
	struct pb_field info, v;

	tell_all(f);
	peer_enable(f->cons, ALL);
	assert_int_equal(read_remote(f, INFO, &info), 1);
	assert_true(peer_subfield(&info, PB_SYSTEM_INFO_PAGE_SIZE, &v));
	assert_int_equal(v.u64, 4096);
	assert_true(peer_subfield(&info, PB_SYSTEM_INFO_MACHINE_NAME, &v));
	assert_int_equal(v.len, 5);
	assert_memory_equal(v.data, "guest", 5);
	assert_int_equal(read_remote(f, INFO, NULL), 0); /* once */
}

FIXTURE_TEST(clocks_stand_in_pairs)
{
	struct pb_field sync, pair, clocks, clock, v;

	tell_all(f);
	peer_enable(f->cons, ALL);
	assert_int_equal(read_remote(f, SYNC, &sync), 1);
	assert_true(peer_subfield(&sync, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS, &pair)); /* last */
	assert_true(
		peer_subfield(&pair, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_CLIENT_CLOCKS, &clocks));
	assert_true(peer_subfield(&clocks, PB_CLOCK_SNAPSHOT_CLOCKS, &clock));
	assert_true(peer_subfield(&clock, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, &v));
	assert_int_equal(v.u64, 6);
	assert_true(peer_subfield(&clock, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, &v));
	assert_int_equal(v.u64, 200);
	assert_true(peer_subfield(&pair, PB_REMOTE_CLOCK_SYNC_SYNCED_CLOCKS_HOST_CLOCKS, &clocks));
	assert_true(peer_subfield(&clocks, PB_CLOCK_SNAPSHOT_CLOCKS, &clock));
	assert_true(peer_subfield(&clock, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, &v));
	assert_true(v.u64 > 0);
}

FIXTURE_TEST(what_comes_while_a_session_runs_is_written_then)
{
	peer_enable(f->cons, ALL);
	assert_int_equal(read_remote(f, INFO, NULL), 0);
	tell_all(f);
	assert_int_equal(read_remote(f, SYNC, NULL), 1);
	assert_int_equal(read_remote(f, SYNC, NULL), 0);
}

FIXTURE_TEST(relay_that_left_is_remembered)
{
	tell_all(f);
	rig_hang_up(&f->rig, f->relay);
	f->relay = remote_rig_peer(&f->rig, 2);
	peer_enable(f->cons, ALL);
	assert_int_equal(read_remote(f, SYNC, NULL), 1);
}

FIXTURE_TEST(one_reading_is_not_written)
{
	peer_identify(f->relay, 0, 1, "a", "");
	assert_true(peer_accepted(f->relay, peer_sync_clock(f->relay, 1, 6, 1, 100)));
	peer_enable(f->cons, ALL);
	assert_int_equal(read_remote(f, SYNC, NULL), 0);
}

FIXTURE_TEST(trace_of_this_machine_knows_no_other)
{
	tell_all(f);
	peer_enable(f->cons, STAGE_CONFIG);
	assert_int_equal(read_remote(f, INFO, NULL), 0);
}

FIXTURE_TEST(machine_name_filter_asks_for_them_too)
{
	tell_all(f);
	peer_enable(f->cons, "buffers { size_kb: 64 } data_sources { config { name: 'x' } "
			     "machine_name_filter: 'guest' }");
	assert_int_equal(read_remote(f, SYNC, NULL), 1);
}

FIXTURE_TEST(switches_of_the_config_hold)
{
	tell_all(f);
	peer_enable(f->cons, ALL "builtin_data_sources { disable_system_info: true "
				 "disable_clock_snapshotting: true }");
	assert_int_equal(read_remote(f, INFO, NULL), 0);
	tell_all(f);
	assert_int_equal(read_remote(f, SYNC, NULL), 0);
}
