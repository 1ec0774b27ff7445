/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "client/counters/tracks.h"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"

static struct tracks *t;
static struct writer *w;

SETUP
{
	fake_reset();
	w = writer_new(NULL, 1, WRITER_STALL);
	assert_int_equal(tracks_new("linux.test_stats", w, &t), 0);
}

TEARDOWN
{
	tracks_free(t);
	writer_free(w);
	fake_reset();
}

static uint32_t add(enum track_kind kind, uint32_t parent, const char *name)
{
	return tracks_add(t, &(struct track_spec){.kind = kind, .parent = parent, .name = name});
}

static void set_at(uint64_t ns, uint32_t track, int64_t v)
{
	tracks_begin(t, ns);
	tracks_set(t, track, v);
	tracks_end(t);
}

static uint64_t uuid_in_new_tracks(const char *source, const char *group, const char *name)
{
	struct tracks *other;
	uint32_t g, c;
	uint64_t uuid;

	assert_int_equal(tracks_new(source, w, &other), 0);
	g = tracks_add(other, &(struct track_spec){.kind = TRACK_GROUP, .name = group});
	c = tracks_add(other,
		       &(struct track_spec){.kind = TRACK_COUNTER, .parent = g, .name = name});
	uuid = tracks_get_uuid(other, c);
	tracks_free(other);
	return uuid;
}

FIXTURE_TEST(a_track_has_the_same_uuid_in_each_recording)
{
	uint64_t uuid = uuid_in_new_tracks("a", "g", "c");

	assert_int_equal(uuid_in_new_tracks("a", "g", "c"), uuid);
	assert_int_not_equal(uuid, 0);
	assert_int_equal(uuid >> 56, 0);
	assert_int_not_equal(uuid_in_new_tracks("b", "g", "c"), uuid);
	assert_int_not_equal(uuid_in_new_tracks("a", "h", "c"), uuid);
	assert_int_not_equal(uuid_in_new_tracks("a", "g", "d"), uuid);
	assert_int_not_equal(uuid_in_new_tracks("a", "gc", "c"), uuid);
	assert_int_not_equal(uuid_in_new_tracks("a", "c", "g"), uuid);
	/* Written down, because traces of other days have it. */
	assert_int_equal(uuid, 0x146083c602975cu);
}

FIXTURE_TEST(processes_are_the_same_for_all_sources)
{
	const struct track_spec p = {.kind = TRACK_PROCESS, .pid = 71},
				later = {.kind = TRACK_PROCESS, .pid = 71, .incarnation = 5},
				main = {.kind = TRACK_THREAD, .pid = 71, .tid = 71};
	struct tracks *other;
	uint64_t uuid;

	assert_int_equal(tracks_new("another", w, &other), 0);
	uuid = tracks_get_uuid(t, tracks_add(t, &p));
	assert_int_equal(tracks_get_uuid(other, tracks_add(other, &p)), uuid);
	assert_int_not_equal(tracks_get_uuid(other, tracks_add(other, &later)), uuid);
	assert_int_not_equal(tracks_get_uuid(other, tracks_add(other, &main)), uuid);
	/* What stands under them is each source's own. */
	assert_int_not_equal(
		tracks_get_uuid(t, add(TRACK_COUNTER, tracks_add(t, &p), "x")),
		tracks_get_uuid(other, tracks_add(other, &(struct track_spec){
								 .kind = TRACK_COUNTER,
								 .parent = tracks_add(other, &p),
								 .name = "x"})));
	tracks_free(other);
}

FIXTURE_TEST(a_descriptor_tells_all_of_a_track)
{
	uint32_t g, c;
	struct pb_field m, counter;

	g = tracks_add(t, &(struct track_spec){.kind = TRACK_GROUP,
					       .name = "group",
					       .by_rank = true,
					       .description = "of all"});
	c = tracks_add(t, &(struct track_spec){.kind = TRACK_COUNTER,
					       .parent = g,
					       .name = "c",
					       .rank = 3,
					       .unit_name = "req/s",
					       .unit_multiplier = 1000,
					       .axis = "shared",
					       .description = "requests"});
	set_at(5, c, 1);
	read_tracks();
	m = read_find("group")->descriptor;
	assert_int_equal(fake_u64(m, PB_TRACK_DESCRIPTOR_CHILD_ORDERING), 3);
	assert_true(fake_str_is(m, PB_TRACK_DESCRIPTOR_DESCRIPTION, 0, "of all"));
	assert_false(fake_has(m, PB_TRACK_DESCRIPTOR_PARENT_UUID));
	m = read_find("group/c")->descriptor;
	assert_int_equal(fake_u64(m, PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK), 3);
	assert_true(fake_str_is(m, PB_TRACK_DESCRIPTOR_DESCRIPTION, 0, "requests"));
	assert_true(read_sub(m, PB_TRACK_DESCRIPTOR_COUNTER, &counter));
	assert_true(fake_str_is(counter, PB_COUNTER_DESCRIPTOR_UNIT_NAME, 0, "req/s"));
	assert_true(fake_str_is(counter, PB_COUNTER_DESCRIPTOR_Y_AXIS_SHARE_KEY, 0, "shared"));
	assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER), 1000);
	assert_false(fake_has(counter, PB_COUNTER_DESCRIPTOR_UNIT));
}

FIXTURE_TEST(units_are_those_of_the_format)
{
	static const enum track_unit units[] = {TRACK_UNIT_NS, TRACK_UNIT_COUNT, TRACK_UNIT_BYTES};
	static const char *const names[] = {"ns", "count", "bytes"};
	struct pb_field counter;

	tracks_begin(t, 1);
	for (size_t i = 0; i < 3; i++)
		tracks_set(t,
			   tracks_add(t, &(struct track_spec){.kind = TRACK_COUNTER,
							      .name = names[i],
							      .unit = units[i]}),
			   1);
	tracks_end(t);
	read_tracks();
	for (size_t i = 0; i < 3; i++) {
		assert_true(read_sub(read_find(names[i])->descriptor, PB_TRACK_DESCRIPTOR_COUNTER,
				     &counter));
		assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT), i + 1);
	}
}

FIXTURE_TEST(groups_of_processes_threads_and_cpus)
{
	const struct track_spec p = {.kind = TRACK_PROCESS, .pid = 70, .name = "init"},
				th = {.kind = TRACK_THREAD, .pid = 70, .tid = 72};
	uint32_t cpus = add(TRACK_GROUP, TRACK_ROOT, "cpus");

	tracks_begin(t, 1);
	tracks_set(t, add(TRACK_COUNTER, tracks_add(t, &p), "faults"), 1);
	tracks_set(t, add(TRACK_COUNTER, tracks_add(t, &th), "waits"), 2);
	tracks_set(t, add(TRACK_COUNTER, tracks_add_cpu(t, cpus, 11), "depth"), 3);
	tracks_end(t);
	read_tracks();
	assert_int_equal(read_last("process 70/faults"), 1);
	assert_int_equal(read_last("thread 70/72/waits"), 2);
	assert_int_equal(read_last("cpus/CPU 11/depth"), 3);
	assert_int_equal(
		fake_u64(read_find("thread 70/72")->descriptor, PB_TRACK_DESCRIPTOR_PARENT_UUID),
		read_find("process 70")->uuid);
	assert_int_equal(read_find("thread 70/72")->uuid, read_find("process 70")->uuid ^ 72);
	assert_int_equal(fake_u64(read_find("cpus/CPU 11")->descriptor,
				  PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK),
			 11);
}

/* It began while values were read: readers that met one before would create another process. */
FIXTURE_TEST(nothing_of_a_process_is_before_it_existed)
{
	const struct track_spec p = {.kind = TRACK_PROCESS, .pid = 70, .alive_ns = 150};
	uint32_t process, faults;

	tracks_begin(t, 100);
	process = tracks_add(t, &p);
	faults = add(TRACK_COUNTER, process, "faults");
	tracks_set(t, faults, 1);
	tracks_begin(t, 200);
	tracks_set_alive(t, process, 250);
	tracks_set(t, faults, 2);
	tracks_end(t);
	for (size_t i = 0; i < fake.n; i++)
		assert_int_equal(fake_u64(fake_packet_field(i), PB_TRACE_PACKET_TIMESTAMP),
				 i + 1 < fake.n ? 150 : 250);
}

FIXTURE_TEST(values_are_written_when_they_change)
{
	uint32_t c = add(TRACK_COUNTER, TRACK_ROOT, "c");

	set_at(10, c, 0); /* the first, though it is 0 */
	set_at(20, c, 0);
	set_at(30, c, -7);
	set_at(40, c, -7);
	set_at(50, c, INT64_MAX);
	set_at(60, c, INT64_MIN);
	read_tracks();
	assert_int_equal(read_count("c"), 4);
	assert_int_equal(read_nth("c", 0)->ns, 10);
	assert_int_equal(read_nth("c", 1)->ns, 30);
	assert_true(read_nth("c", 1)->i == -7);
	assert_true(read_nth("c", 2)->i == INT64_MAX);
	assert_true(read_last("c") == INT64_MIN);
	assert_int_equal(tracks_counts(t).values, 4);
}

FIXTURE_TEST(real_numbers_too)
{
	uint32_t c = add(TRACK_COUNTER, TRACK_ROOT, "c"),
		 nan_c = add(TRACK_COUNTER, TRACK_ROOT, "n");

	for (uint64_t ns = 1; ns < 4; ns++) {
		tracks_begin(t, ns);
		tracks_set_double(t, c, ns < 3 ? 0.25 : -1e300);
		tracks_set_double(t, nan_c, NAN);
		tracks_end(t);
	}
	set_at(9, c, 2); /* and the kinds may change */
	read_tracks();
	assert_int_equal(read_count("c"), 3);
	assert_true(read_nth("c", 0)->d == 0.25);
	assert_true(read_nth("c", 1)->d == -1e300);
	assert_int_equal(read_last("c"), 2);
	assert_int_equal(read_count("n"), 1);
}

FIXTURE_TEST(values_of_one_moment_share_packets)
{
	uint32_t c[20];
	char name[20];
	size_t before;

	for (unsigned i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "c%u", i);
		c[i] = add(TRACK_COUNTER, TRACK_ROOT, name);
		set_at(1, c[i], -1);
	}
	before = fake.n;
	tracks_begin(t, 2);
	for (unsigned i = 0; i < 20; i++)
		if (i % 3 == 2)
			tracks_set_double(t, c[i], i);
		else
			tracks_set(t, c[i], i);
	tracks_end(t);
	assert_int_equal(fake.n - before, 3); /* 9 + 5 whole numbers, 6 real ones */
	read_tracks();
	for (unsigned i = 0; i < 20; i++) {
		const struct read_value *v;

		snprintf(name, sizeof(name), "c%u", i);
		v = read_nth(name, 1);
		assert_int_equal(v->is_double, i % 3 == 2);
		assert_true((v->is_double ? v->d : (double)v->i) == i);
		assert_int_equal(v->ns, 2);
	}
}

FIXTURE_TEST(two_values_of_one_moment_keep_their_order)
{
	uint32_t c = add(TRACK_COUNTER, TRACK_ROOT, "c"), d = add(TRACK_COUNTER, TRACK_ROOT, "d");

	tracks_begin(t, 5);
	tracks_set(t, d, 1);
	tracks_set(t, c, 0);
	tracks_set(t, c, 4);
	tracks_set(t, d, 0);
	tracks_set(t, d, 2);
	tracks_end(t);
	read_tracks();
	assert_int_equal(read_last("c"), 4);
	assert_int_equal(read_last("d"), 2);
	assert_int_equal(read_count("d"), 3);
}

/* ---- flush, clear, loss ---- */

FIXTURE_TEST(a_flush_writes_what_had_not_changed)
{
	uint32_t idle = add(TRACK_COUNTER, TRACK_ROOT, "idle"),
		 busy = add(TRACK_COUNTER, TRACK_ROOT, "busy");
	size_t n;

	add(TRACK_COUNTER, TRACK_ROOT, "never");
	for (uint64_t ns = 10; ns < 13; ns++) {
		tracks_begin(t, ns);
		tracks_set(t, idle, 4);
		tracks_set(t, busy, (int64_t)ns);
		tracks_end(t);
	}
	tracks_flush(t);
	read_tracks();
	assert_int_equal(read_count("idle"), 2);
	assert_int_equal(read_nth("idle", 1)->ns, 12); /* when it was seen */
	assert_int_equal(read_count("busy"), 3);
	assert_null(read_find("never"));
	n = fake.n;
	tracks_flush(t); /* nothing was seen since */
	assert_int_equal(fake.n, n);
	set_at(20, idle, 4); /* nor does a flush make it new */
	assert_int_equal(fake.n, n);
}

FIXTURE_TEST(a_clear_makes_all_anew)
{
	uint32_t g = add(TRACK_GROUP, TRACK_ROOT, "g"), c = add(TRACK_COUNTER, g, "c"),
		 d = add(TRACK_COUNTER, g, "d");

	set_at(1, c, 5);
	set_at(1, d, 6);
	tracks_clear(t);
	tracks_clear(t);
	set_at(2, c, 5);
	read_tracks(); /* itself strict about states */
	assert_int_equal(rd.states, 2);
	assert_int_equal(read_find("g")->described, 2);
	assert_int_equal(read_find("g/c")->described, 2);
	assert_int_equal(read_count("g/c"), 2);
	assert_int_equal(read_find("g/d")->described, 1);
	tracks_flush(t);
	read_tracks();
	assert_int_equal(read_count("g/d"), 2);
	assert_int_equal(read_last("g/d"), 6);
}

FIXTURE_TEST(what_waits_at_a_clear_belongs_to_the_state_before)
{
	uint32_t c = add(TRACK_COUNTER, TRACK_ROOT, "c");

	tracks_begin(t, 1);
	tracks_set(t, c, 5);
	tracks_clear(t);
	tracks_set(t, c, 5);
	tracks_end(t);
	read_tracks();
	assert_int_equal(read_count("c"), 2);
}

FIXTURE_TEST(a_lost_packet_begins_a_new_state)
{
	uint32_t c = add(TRACK_COUNTER, TRACK_ROOT, "c");

	set_at(1, c, 5);
	fake.dropped = 3;
	set_at(2, c, 5);
	set_at(3, c, 5);
	read_tracks();
	assert_int_equal(rd.states, 2);
	assert_int_equal(read_count("c"), 2);
}

FIXTURE_TEST(losses_of_before_are_not_ours)
{
	struct tracks *other;

	fake.dropped = 9;
	assert_int_equal(tracks_new("s", w, &other), 0);
	tracks_begin(other, 1);
	tracks_set(other,
		   tracks_add(other, &(struct track_spec){.kind = TRACK_COUNTER, .name = "c"}), 1);
	tracks_begin(other, 2);
	tracks_free(other);
	read_tracks();
	assert_int_equal(rd.states, 1);
}

/* ---- the end of tracks, limits ---- */

FIXTURE_TEST(a_level_ends_with_0_and_a_total_with_its_last_value)
{
	uint32_t level = add(TRACK_COUNTER, TRACK_ROOT, "level"), real, total;

	total = tracks_add(
		t, &(struct track_spec){.kind = TRACK_COUNTER, .name = "total", .total = true});
	real = add(TRACK_COUNTER, TRACK_ROOT, "real");
	add(TRACK_COUNTER, TRACK_ROOT, "never");
	set_at(1, level, 8);
	set_at(1, total, 9);
	tracks_begin(t, 1);
	tracks_set_double(t, real, 1.5);
	tracks_begin(t, 7);
	tracks_remove(t, level);
	tracks_remove(t, total);
	tracks_remove(t, real);
	tracks_end(t);
	read_tracks();
	assert_int_equal(read_count("level"), 2);
	assert_int_equal(read_last("level"), 0);
	assert_int_equal(read_nth("level", 1)->ns, 7);
	assert_int_equal(read_last("total"), 9);
	assert_int_equal(read_nth("total", 1)->ns, 7);
	assert_true(read_nth("real", 1)->is_double && read_nth("real", 1)->d == 0);
	assert_int_equal(tracks_counts(t).tracks, 1);
}

FIXTURE_TEST(a_group_takes_all_under_it_away)
{
	uint32_t g = add(TRACK_GROUP, TRACK_ROOT, "g"), h = add(TRACK_GROUP, g, "h");

	set_at(1, add(TRACK_COUNTER, h, "c"), 3);
	tracks_begin(t, 2);
	tracks_remove(t, g);
	tracks_end(t);
	read_tracks();
	assert_int_equal(read_last("g/h/c"), 0);
	assert_int_equal(tracks_counts(t).tracks, 0);
}

FIXTURE_TEST(a_group_of_two_users_goes_with_the_second)
{
	const struct track_spec p = {.kind = TRACK_PROCESS, .pid = 3};
	uint32_t a = tracks_add(t, &p), b = tracks_add(t, &p);

	assert_int_equal(a, b);
	add(TRACK_COUNTER, a, "c");
	tracks_remove(t, a);
	assert_int_equal(tracks_counts(t).tracks, 2);
	tracks_remove(t, b);
	assert_int_equal(tracks_counts(t).tracks, 0);
	assert_int_equal(tracks_counts(t).refused, 0);
}

FIXTURE_TEST(a_counter_that_is_there_already_is_refused)
{
	uint32_t g = add(TRACK_GROUP, TRACK_ROOT, "same");

	assert_int_not_equal(add(TRACK_COUNTER, g, "c"), TRACK_VOID);
	assert_int_equal(add(TRACK_COUNTER, g, "c"), TRACK_VOID);
	assert_int_equal(tracks_counts(t).refused, 1);
	/* A group and a counter may have one name. */
	assert_int_not_equal(add(TRACK_COUNTER, TRACK_ROOT, "same"), TRACK_VOID);
}

FIXTURE_TEST(one_that_comes_back_is_described_again)
{
	uint32_t c = add(TRACK_COUNTER, TRACK_ROOT, "c");

	set_at(1, c, 3);
	tracks_remove(t, c);
	c = add(TRACK_COUNTER, TRACK_ROOT, "c");
	set_at(2, c, 3);
	read_tracks();
	assert_int_equal(rd.n_tracks, 1);
	assert_int_equal(read_find("c")->described, 2);
	assert_int_equal(read_count("c"), 3);
}

FIXTURE_TEST(tracks_that_come_and_go_take_no_memory)
{
	char name[32];

	for (unsigned i = 0; i < 3 * TRACKS_MAX; i++) {
		uint32_t c;

		snprintf(name, sizeof(name), "c%u", i);
		c = add(TRACK_COUNTER, TRACK_ROOT, name);
		assert_int_not_equal(c, TRACK_VOID);
		assert_in_range(c, 1, 2); /* slots are used again */
		tracks_remove(t, c);
	}
	assert_int_equal(tracks_counts(t).tracks, 0);
}

FIXTURE_TEST(too_many_are_refused_and_counted)
{
	uint32_t first = TRACK_VOID;
	char name[32];

	for (unsigned i = 0; i < TRACKS_MAX; i++) {
		uint32_t c;

		snprintf(name, sizeof(name), "c%u", i);
		c = add(TRACK_COUNTER, TRACK_ROOT, name);
		assert_int_not_equal(c, TRACK_VOID);
		first = MIN(first, c);
	}
	assert_int_equal(add(TRACK_COUNTER, TRACK_ROOT, "more"), TRACK_VOID);
	assert_int_equal(add(TRACK_GROUP, TRACK_ROOT, "more"), TRACK_VOID);
	assert_int_equal(tracks_counts(t).refused, 2);
	tracks_remove(t, first);
	assert_int_not_equal(add(TRACK_COUNTER, TRACK_ROOT, "more"), TRACK_VOID);
}

FIXTURE_TEST(too_deep_is_refused)
{
	uint32_t g = TRACK_ROOT;

	for (unsigned i = 0; i < TRACKS_DEPTH_MAX; i++) {
		g = add(TRACK_GROUP, g, "g");
		assert_int_not_equal(g, TRACK_VOID);
	}
	assert_int_equal(add(TRACK_COUNTER, g, "c"), TRACK_VOID);
	assert_int_equal(tracks_counts(t).refused, 1);
}

FIXTURE_TEST(what_was_refused_does_nothing)
{
	uint32_t v = TRACK_VOID;

	assert_int_equal(add(TRACK_COUNTER, v, "c"), TRACK_VOID);
	set_at(1, v, 3);
	tracks_set_double(t, TRACK_ROOT, 3);
	tracks_remove(t, v);
	tracks_remove(t, TRACK_ROOT);
	tracks_flush(t);
	assert_int_equal(tracks_get_uuid(t, v), 0);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(names_of_strangers_are_plain_and_cut)
{
	char longer[400] = {0}, other[400];

	memset(longer, 'x', sizeof(longer) - 1);
	memcpy(other, longer, sizeof(other));
	other[390] = 'y';
	set_at(1, add(TRACK_COUNTER, TRACK_ROOT, "a\nb\x1b[2J\xff"), 1);
	set_at(1, add(TRACK_COUNTER, TRACK_ROOT, longer), 2);
	/* Two that look the same are two all the same. */
	set_at(1, add(TRACK_COUNTER, TRACK_ROOT, other), 3);
	read_tracks();
	assert_non_null(read_find("a?b?[2J?"));
	assert_int_equal(rd.n_tracks, 3);
	longer[TRACK_NAME_MAX] = 0;
	assert_non_null(read_find(longer));
}

/* They come from one memory, or from two. */
FIXTURE_TEST(short_and_long_names_come_and_go)
{
	char name[300] = "";

	for (unsigned round = 0; round < 3; round++) {
		uint32_t k[TRACK_NAME_MAX];

		for (size_t len = 1; len < TRACK_NAME_MAX; len++) {
			memset(name, 'a' + (int)round, len);
			name[len] = 0;
			k[len] = add(TRACK_COUNTER, TRACK_ROOT, name);
			set_at(round + 1, k[len], (int64_t)len);
		}
		read_tracks();
		for (size_t len = 1; len < TRACK_NAME_MAX; len++) {
			memset(name, 'a' + (int)round, len);
			name[len] = 0;
			assert_int_equal(read_last(name), len);
			tracks_remove(t, k[len]);
		}
	}
	assert_int_equal(tracks_counts(t).tracks, 0);
}

static struct track_update seen[8];
static size_t n_seen;

static void see(void *ctx, const struct track_update *s)
{
	assert_ptr_equal(ctx, &n_seen);
	seen[n_seen++] = *s;
	seen[n_seen - 1].name = NULL;
}

FIXTURE_TEST(a_watcher_sees_values_that_have_not_changed_and_the_end)
{
	const struct track_spec spec = {.kind = TRACK_COUNTER, .name = "depth"};
	uint32_t depth = tracks_add(t, &spec);

	n_seen = 0;
	tracks_set(t, depth, 1); /* it has no watcher yet */
	tracks_watch(t, see, &n_seen);
	tracks_set(t, depth, 3);
	tracks_set(t, depth, 3);
	tracks_set_double(t, depth, 0.5);
	tracks_remove(t, depth);
	depth = tracks_add(t, &spec);
	tracks_set(t, depth, 9);
	tracks_watch(t, NULL, NULL);
	tracks_set(t, depth, 10);
	assert_int_equal(n_seen, 5);
	assert_true(seen[0].value == 3 && seen[1].value == 3 && seen[2].value == 0.5);
	assert_false(seen[0].is_first || seen[2].is_last);
	assert_true(seen[3].is_last && seen[3].value == 0);
	assert_true(seen[4].is_first && seen[4].value == 9 && seen[4].track == depth);
}

FIXTURE_TEST(a_flush_piece_by_piece)
{
	const uint32_t n = 2 * TRACKS_FLUSH_PIECE + 10;
	uint32_t group = add(TRACK_GROUP, TRACK_ROOT, "many"), *k = calloc(n, sizeof(*k));
	unsigned pieces = 0;
	size_t n_before;
	char name[16];

	tracks_begin(t, 10);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "c%03u", i);
		k[i] = add(TRACK_COUNTER, group, name);
		tracks_set(t, k[i], i);
	}
	tracks_begin(t, 20);
	for (uint32_t i = 0; i < n; i++)
		tracks_set(t, k[i], i);
	tracks_end(t);
	read_tracks();
	n_before = rd.n_values;
	assert_true(tracks_flush_piece(t));
	assert_true(tracks_counts(t).values <= n + TRACKS_FLUSH_PIECE);
	/* One that changes, one that goes and one that comes meanwhile. */
	set_at(30, k[n - 1], 4711);
	tracks_remove(t, k[n - 2]);
	tracks_set(t, add(TRACK_COUNTER, group, "new"), 5);
	while (tracks_flush_piece(t))
		pieces++;
	assert_int_equal(pieces, 1);
	read_tracks();
	/* Of each the last value once; what is written since, not again. */
	assert_int_equal(tracks_counts(t).values, n + (n - 2) + 3);
	assert_int_equal(rd.n_values - n_before, (n - 2) + 3);
	tracks_flush(t);
	assert_int_equal(tracks_counts(t).values, n + (n - 2) + 3);
	free(k);
}
