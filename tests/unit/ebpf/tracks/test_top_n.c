/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/top_n.h"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"

static struct writer *w;
static struct tracks *tracks;
static struct top_n *top;
static uint64_t now;

static const struct track_spec columns[] = {
	{.name = "calls", .unit = TRACK_UNIT_COUNT, .total = true},
	{.name = "time", .unit = TRACK_UNIT_NS, .total = true},
};

SETUP
{
	fake_reset();
	now = 0;
	w = writer_new(NULL, 1, WRITER_DROP);
	assert_int_equal(tracks_new("test", w, &tracks), 0);
	assert_int_equal(top_n_new(tracks, columns, 2, 2, "/nowhere", &top), 0);
}

TEARDOWN
{
	top_n_free(top);
	tracks_free(tracks);
	writer_free(w);
	fake_reset();
}

/* Weights of processes 1, 2, 3 ...; 0: it is not there. */
static void period(const uint64_t *weights, size_t n)
{
	tracks_begin(tracks, ++now);
	top_n_begin(top);
	for (size_t i = 0; i < n; i++)
		if (weights[i])
			top_n_add(top,
				  &(struct top_process){
					  .pid = (uint32_t)i + 1,
					  .weight = weights[i],
					  .values = (const uint64_t[]){weights[i], 2 * weights[i]},
				  });
	top_n_end(top);
	tracks_end(tracks);
	read_tracks();
}
#define PERIOD(...) period((const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8)

FIXTURE_TEST(the_largest_have_tracks)
{
	PERIOD(10, 30, 20);
	assert_int_equal(read_last("process 2/calls"), 30);
	assert_int_equal(read_last("process 3/time"), 40);
	assert_null(read_find("process 1/calls"));
}

FIXTURE_TEST(growth_counts_not_size)
{
	PERIOD(10, 3000, 2000);
	PERIOD(15, 3000, 2001);
	assert_int_equal(read_last("process 1/calls"), 15);
	assert_int_equal(read_last("process 3/calls"), 2001);
	/* Who gave up its place has the total that it ended with. */
	assert_int_equal(read_last("process 2/calls"), 3000);
	assert_int_equal(tracks_counts(tracks).tracks, 6);
}

FIXTURE_TEST(who_gives_up_its_place_has_what_it_grew_until_then)
{
	PERIOD(10, 30, 20);
	PERIOD(100, 31, 25);
	assert_int_equal(read_last("process 1/calls"), 100);
	assert_int_equal(read_last("process 2/calls"), 31);
	assert_int_equal(read_last("process 2/time"), 62);
	/* It comes back. */
	PERIOD(100, 90, 30);
	assert_int_equal(read_last("process 2/calls"), 90);
}

FIXTURE_TEST(an_idle_process_keeps_its_place_until_it_is_needed)
{
	PERIOD(10, 20);
	PERIOD(10, 20, 0);
	assert_int_equal(tracks_counts(tracks).tracks, 6);
	PERIOD(11, 20, 5, 6);
	assert_int_equal(read_last("process 4/calls"), 6);
	assert_int_equal(read_last("process 3/calls"), 5);
	assert_int_equal(tracks_counts(tracks).tracks, 6);
}

FIXTURE_TEST(processes_not_added_any_more_are_removed)
{
	PERIOD(10, 20);
	PERIOD(0, 21);
	assert_int_equal(tracks_counts(tracks).tracks, 3);
	/* Its element began anew. */
	PERIOD(4, 5);
	assert_int_equal(read_last("process 1/calls"), 4);
	assert_int_equal(read_last("process 2/calls"), 5);
	tracks_begin(tracks, ++now);
	top_n_remove_tracks(top);
	assert_int_equal(tracks_counts(tracks).tracks, 0);
	tracks_end(tracks);
}

FIXTURE_TEST(several_elements_of_a_process_add_up)
{
	tracks_begin(tracks, ++now);
	top_n_begin(top);
	top_n_add(top, &(struct top_process){7, 0, 1, (const uint64_t[]){1, 100}});
	top_n_add(top, &(struct top_process){7, 0, 2, (const uint64_t[]){2, 200}});
	top_n_end(top);
	tracks_end(tracks);
	read_tracks();
	assert_int_equal(read_last("process 7/calls"), 3);
	assert_int_equal(read_last("process 7/time"), 300);
}
