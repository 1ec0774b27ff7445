/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/errors.h"
#include "ebpf/tracks/counter.h"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"

static struct writer *w;
static struct tracks *tracks;
static struct ebpf_run run;
static struct ebpf_errors errors;
static const struct ebpf_family family = {.name = "waits"};

SETUP
{
	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
	assert_int_equal(tracks_new("test", w, &tracks), 0);
	run = (struct ebpf_run){.tracks = tracks, .family = &family, .errors = &errors};
	tracks_begin(tracks, 1);
	run.group = ebpf_add_group(&run, TRACK_ROOT, "all");
}

TEARDOWN
{
	ebpf_errors_deinit(&errors);
	tracks_free(tracks);
	writer_free(w);
	fake_reset();
}

FIXTURE_TEST(time_and_count_are_two_tracks)
{
	struct ebpf_timed t =
		ebpf_add_timed(&run, run.group, "wait time", "waits", "what was waited for");

	ebpf_set_timed(&run, &t, 4711, 3);
	tracks_end(tracks);
	read_tracks();
	assert_int_equal(read_last("all/wait time"), 4711);
	assert_int_equal(read_last("all/waits"), 3);
	ebpf_remove_timed(&run, &t);
	assert_int_equal(tracks_counts(tracks).tracks, 1);
}

FIXTURE_TEST(losses_are_reported_once)
{
	uint32_t track = TRACK_ROOT;

	ebpf_set_lost(&run, &track, "waits lost", "waits without memory", 0);
	assert_int_equal(track, TRACK_ROOT);
	assert_int_equal(errors.n, 0);
	ebpf_set_lost(&run, &track, "waits lost", "waits without memory", 2);
	ebpf_set_lost(&run, &track, "waits lost", "waits without memory", 5);
	assert_int_equal(errors.n, 1);
	assert_string_equal(errors.all[0].what, "waits");
	assert_string_equal(errors.all[0].reason, "waits without memory");
	assert_int_equal(errors.all[0].count, 5);
	tracks_end(tracks);
	read_tracks();
	assert_int_equal(read_last("all/waits lost"), 5);
	assert_int_equal(tracks_counts(tracks).tracks, 2);
}
