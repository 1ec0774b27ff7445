/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "unit/client/read_tracks.h"
#include "procfs/counters/counter_files.h"

static struct tracks *t;
static struct writer *w;
static struct counter_keys keys;
static struct counter_tracks a, b;
static unsigned asked;

/* Wants all but names with an x. */
static bool decide(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	asked++;
	*ret_spec = (struct track_spec){.unit = TRACK_UNIT_BYTES};
	return !strchr(shown, 'x');
}

SETUP
{
	fake_reset();
	w = writer_new(NULL, 1, WRITER_STALL);
	keys = (struct counter_keys){.decide = decide, .prefix = "f"};
	asked = 0;
	assert_int_equal(tracks_new("test", w, &t), 0);
}

TEARDOWN
{
	counter_keys_deinit(&keys);
	counter_tracks_deinit(&a);
	counter_tracks_deinit(&b);
	tracks_free(t);
	writer_free(w);
	fake_reset();
}

static uint32_t track_of(struct counter_tracks *x, uint32_t group, const char *name)
{
	return counter_keys_track(&keys, x, t, group, (struct span){name, strlen(name)});
}

static uint32_t group(const char *name)
{
	return tracks_add(t, &(struct track_spec){.kind = TRACK_GROUP, .name = name});
}

FIXTURE_TEST(a_name_is_decided_once_for_all_files)
{
	uint32_t ga = group("a"), gb = group("b");

	tracks_begin(t, 1);
	for (int round = 0; round < 3; round++) {
		tracks_set(t, track_of(&a, ga, "one"), 1);
		tracks_set(t, track_of(&a, ga, "xxx"), 2);
		tracks_set(t, track_of(&a, ga, "two"), 3);
		tracks_set(t, track_of(&b, gb, "two"), 4);
		tracks_set(t, track_of(&b, gb, "one"), 5);
		tracks_set(t, track_of(&b, gb, ""), 6);
	}
	tracks_end(t);
	assert_int_equal(asked, 4);
	read_tracks();
	assert_int_equal(read_last("a/f one"), 1);
	assert_int_equal(read_last("a/f two"), 3);
	assert_int_equal(read_last("b/f two"), 4);
	assert_int_equal(read_last("b/f one"), 5);
	assert_int_equal(read_last("b/f"), 6);
	assert_int_equal(rd.n_values, 5);
}

FIXTURE_TEST(names_that_begin_alike_are_two)
{
	assert_int_not_equal(track_of(&a, TRACK_ROOT, "anon"), track_of(&a, TRACK_ROOT, "ano"));
	assert_int_not_equal(track_of(&a, TRACK_ROOT, "anon"), track_of(&a, TRACK_ROOT, "anon_t"));
}

FIXTURE_TEST(names_that_are_too_long_or_too_many)
{
	char name[COUNTER_KEY_SIZE + 1] = {0};

	memset(name, 'n', COUNTER_KEY_SIZE);
	assert_int_equal(track_of(&a, TRACK_ROOT, name), TRACK_VOID);
	for (unsigned i = 0; i < COUNTER_KEYS_MAX; i++) {
		snprintf(name, sizeof(name), "%u", i);
		assert_int_not_equal(track_of(&a, TRACK_ROOT, name), TRACK_VOID);
	}
	assert_int_equal(track_of(&a, TRACK_ROOT, "more"), TRACK_VOID);
	assert_int_not_equal(track_of(&a, TRACK_ROOT, "17"), TRACK_VOID);
}

FIXTURE_TEST(a_nul_in_a_name)
{
	assert_int_equal(counter_keys_track(&keys, &a, t, TRACK_ROOT, (struct span){"a\0b", 3}),
			 TRACK_VOID);
}
