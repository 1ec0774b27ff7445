/* SPDX-License-Identifier: Apache-2.0 */
/* What events become: the packets that the functions behind the macros write. */
#include <stdio.h>

#include "lib/track_event/event.h"
#include "unit/lib/track_event/fake_writer.h"
#include "unit/rng.h"

SONDA_CATEGORY_DEFINE(net, "net", "Requests");
SONDA_CATEGORY_DEFINE(slow, "net.slow", "Each buffer", "slow");
SONDA_CATEGORY_DEFINE(both, "net,disk");
SONDA_CATEGORY_DEFINE(slow_and_absent, "net.slow,absent");
SONDA_DYNAMIC_CATEGORY_DEFINE(any);

#define PREAMBLE 3 /* packets before the first event */

static uint64_t stamp_of(size_t i)
{
	return packet_field(i, PB_TRACE_PACKET_TIMESTAMP).u64;
}

static uint64_t clock_of(size_t i)
{
	return packet_field(i, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID).u64;
}

/* ---- categories ---- */

TEST(a_disabled_category_evaluates_no_argument)
{
	int evaluated = 0;

	fake_start("\x0a\x03net", 5);
	SONDA_INSTANT(net, "x", SONDA_INT("n", ++evaluated));
	assert_int_equal(fake.n, 0);
	assert_int_equal(evaluated, 0);
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "x", SONDA_INT("n", ++evaluated));
	assert_int_equal(fake.n, PREAMBLE + 1);
	assert_int_equal(evaluated, 1);
}

TEST(tags_and_groups_decide_what_is_enabled)
{
	fake_start(NULL, 0);
	assert_int_equal(sonda_category_enabled(&net), 1);
	assert_int_equal(sonda_category_enabled(&slow), 0);
	assert_int_equal(sonda_category_enabled(&both), 1);
	assert_int_equal(sonda_category_enabled(&any), 1);
	fake_start("\x0a\x01*", 3);
	assert_int_equal(sonda_category_enabled(&both), 0);
	assert_int_equal(sonda_category_enabled(&any), 1);
	fake_start("\x0a\x06"
		   "absent",
		   8);
	/* The tags of a registered member count. */
	assert_int_equal(sonda_category_enabled(&slow_and_absent), 0);
	fake_stop();
	assert_int_equal(sonda_category_enabled(&net), 0);
	assert_int_equal(sonda_category_enabled(&any), 0);
}

TEST(a_category_that_is_added_while_a_session_runs_is_enabled_at_once)
{
	static struct sonda_category late = {.texts = {"late"}};

	fake_start(NULL, 0);
	sonda_category_add(&late);
	sonda_category_add(&late);
	assert_int_equal(sonda_category_enabled(&late), 1);
	sonda_category_remove(&late);
	assert_int_equal(sonda_category_enabled(&late), 0);
	sonda_category_remove(&late);
	fake_stop();
}

TEST(a_group_has_the_ids_of_all_its_categories)
{
	fake_start(NULL, 0);
	SONDA_INSTANT(both, "x");
	SONDA_INSTANT(both, "x");
	expect_bytes(PREAMBLE + 1, "40 00 5A 08 18 01 18 02 48 03 50 01 68 02");
}

TEST(dynamic_categories_are_filtered_one_by_one)
{
	/* disabled "*", enabled "a" */
	fake_start("\x0a\x01*\x12\x01"
		   "a",
		   6);
	for (int i = 0; i < 2; i++) {
		SONDA_INSTANT(any, "x", SONDA_IN_CATEGORY("b"));
		assert_int_equal(fake.n, i ? PREAMBLE + 1 : 0);
		SONDA_INSTANT(any, "x", SONDA_IN_CATEGORY("a"));
		assert_int_equal(fake.n, PREAMBLE + 1 + i);
	}
}

TEST(an_end_has_no_category_that_could_keep_it_from_its_slice)
{
	fake_start(NULL, 0);
	SONDA_BEGIN(any, "x", SONDA_IN_CATEGORY("a"));
	SONDA_END(any, SONDA_IN_CATEGORY("a"));
	expect_bytes(PREAMBLE + 1, "40 00 5A 02 48 02 68 02");
}

/* ---- interning ---- */

TEST(a_text_is_defined_once_a_generation)
{
	fake_start(NULL, 0);
	for (int round = 0; round < 2; round++) {
		fake_forget();
		fake.cleared = true;
		for (int i = 0; i < 3; i++)
			SONDA_INSTANT(net, "x", SONDA_INT("n", i));
		assert_int_equal(fake.n, PREAMBLE + 3);
		assert_int_not_equal(packet_field(PREAMBLE, PB_TRACE_PACKET_INTERNED_DATA).id, 0);
		assert_int_equal(packet_field(PREAMBLE + 1, PB_TRACE_PACKET_INTERNED_DATA).id, 0);
		assert_int_equal(event_field(PREAMBLE + 2, PB_TRACK_EVENT_NAME_IID).u64, 1);
	}
}

TEST(equal_texts_of_different_places_share_an_id)
{
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "same");
	SONDA_INSTANT(net, "same");
	SONDA_INSTANT(net, "other");
	assert_int_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_NAME_IID).u64, 1);
	assert_int_equal(event_field(PREAMBLE + 2, PB_TRACK_EVENT_NAME_IID).u64, 2);
}

TEST(more_new_texts_than_one_event_can_define_are_written_in_full)
{
	static char names[40][16];
	static struct sonda_string strings[40];
	struct sonda_arg args[41];
	struct pb_field data, f;
	struct pb_dec d;
	int defined = 0, in_full = 0;

	for (int i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		strings[i].text = names[i];
		args[i] = sonda_arg_u(SONDA_ARG_INT, &strings[i], (uint64_t)i);
	}
	args[40] = sonda_arg_end(SONDA_ARG_LIST_END);
	fake_start(NULL, 0);
	sonda_event(&net, SONDA_EVENT_INSTANT, NULL, args);
	data = packet_field(PREAMBLE, PB_TRACE_PACKET_INTERNED_DATA);
	pb_dec_init(&d, data.data, data.len);
	while (pb_dec_next(&d, &f))
		defined += f.id == PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES;
	data = packet_field(PREAMBLE, PB_TRACE_PACKET_TRACK_EVENT);
	pb_dec_init(&d, data.data, data.len);
	while (pb_dec_next(&d, &f))
		in_full += f.id == PB_TRACK_EVENT_DEBUG_ANNOTATIONS &&
			   field_of(f.data, f.len, PB_DEBUG_ANNOTATION_NAME).id != 0;
	assert_int_equal(defined + in_full, 40);
	assert_true(defined > 0 && in_full > 0);
}

TEST(a_place_is_defined_once_and_a_log_body_each_time)
{
	fake_start(NULL, 0);
	for (int i = 0; i < 2; i++)
		SONDA_INSTANT(net, "x", SONDA_HERE(), SONDA_LOG(SONDA_LOG_WARN, i ? "b" : "a"));
	for (size_t i = 0; i < 2; i++) {
		struct pb_field log = event_field(PREAMBLE + i, PB_TRACK_EVENT_LOG_MESSAGE);
		struct pb_field data = packet_field(PREAMBLE + i, PB_TRACE_PACKET_INTERNED_DATA);

		assert_int_equal(field_of(log.data, log.len, PB_LOG_MESSAGE_BODY_IID).u64, i + 1);
		assert_int_equal(field_of(log.data, log.len, PB_LOG_MESSAGE_PRIO).u64, 5);
		assert_int_equal(
			field_of(data.data, data.len, PB_INTERNED_DATA_SOURCE_LOCATIONS).id,
			i ? 0 : PB_INTERNED_DATA_SOURCE_LOCATIONS);
		assert_int_equal(event_field(PREAMBLE + i, PB_TRACK_EVENT_SOURCE_LOCATION_IID).u64,
				 1);
	}
}

/* ---- times ---- */

TEST(the_past_is_absolute_and_does_not_move_the_clock)
{
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "x");
	fake_now += 100;
	SONDA_INSTANT(net, "x", SONDA_TIMESTAMP(999999999));
	SONDA_INSTANT(net, "x");
	assert_int_equal(stamp_of(PREAMBLE + 1), 999999999);
	assert_int_equal(clock_of(PREAMBLE + 1), 6);
	assert_int_equal(stamp_of(PREAMBLE + 2), 100);
	assert_int_equal(clock_of(PREAMBLE + 2), 0);
}

TEST(the_far_future_is_absolute_too)
{
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "x", SONDA_TIMESTAMP(3000000000u));
	fake_now += 100;
	SONDA_INSTANT(net, "x");
	assert_int_equal(stamp_of(PREAMBLE), 3000000000u);
	assert_int_equal(clock_of(PREAMBLE), 6);
	assert_int_equal(stamp_of(PREAMBLE + 1), 100);
}

TEST(times_of_other_clocks_are_written_as_they_are)
{
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "x", SONDA_TIMESTAMP_OF(SONDA_CLOCK_MONOTONIC, 5));
	assert_int_equal(stamp_of(PREAMBLE), 5);
	assert_int_equal(clock_of(PREAMBLE), 3);
}

/* timestamp_unit_multiplier 1000 */
TEST(units_of_a_microsecond_do_not_drift)
{
	uint64_t sum = 0;

	fake_start("\x30\xe8\x07", 3);
	SONDA_INSTANT(net, "x");
	for (int i = 0; i < 1000; i++) {
		fake_now += 1234;
		SONDA_INSTANT(net, "x");
		sum += stamp_of(fake.n - 1);
	}
	assert_int_equal(sum, 1234);
	SONDA_INSTANT(net, "x", SONDA_TIMESTAMP(5000));
	assert_int_equal(stamp_of(fake.n - 1), 5);
	assert_int_equal(clock_of(fake.n - 1), 65);
}

TEST(the_clocks_of_each_config)
{
	static const struct {
		const char *config;
		size_t len;
		uint64_t clock, stamp;
	} cases[] = {
		{"", 0, 64, 0},
		{"\x28\x01", 2, 6, 1000000000},
		{"\x30\xe8\x07", 3, 64, 0},
		{"\x28\x01\x30\xe8\x07", 5, 65, 1000000},
	};

	for (size_t i = 0; i < 4; i++) {
		struct pb_field defaults;

		fake_start(cases[i].config, cases[i].len);
		SONDA_INSTANT(net, "x");
		defaults = packet_field(0, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
		assert_int_equal(field_of(defaults.data, defaults.len,
					  PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID)
					 .u64,
				 cases[i].clock);
		assert_int_equal(packet_field(0, PB_TRACE_PACKET_CLOCK_SNAPSHOT).id == 0, i == 1);
		assert_int_equal(stamp_of(PREAMBLE), cases[i].stamp);
		assert_int_equal(clock_of(PREAMBLE), 0);
	}
}

/* enable_thread_time_sampling; the fake has one clock for all */
TEST(events_of_the_thread_have_its_cpu_time)
{
	struct sonda_track other = sonda_track_custom(1, NULL);

	fake_start("\x40\x01", 2);
	SONDA_INSTANT(net, "x");
	fake_now += 70;
	SONDA_INSTANT(net, "x");
	SONDA_INSTANT(net, "x", SONDA_TRACK(&other));
	assert_int_equal(fake.n, PREAMBLE + 1 + 2 + 2);
	assert_int_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES).u64,
			 1000000000);
	assert_int_equal(event_field(PREAMBLE + 2, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES).u64, 70);
	assert_int_equal(event_field(PREAMBLE + 4, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES).id, 0);
}

TEST(an_event_with_extra_counters_needs_no_track)
{
	const struct sonda_track counter = sonda_track_counter("bytes", NULL);
	const struct sonda_arg args[] = {SONDA_EXTRA_INT(&counter, 1),
					 sonda_arg_end(SONDA_ARG_LIST_END)};
	struct event ev;

	memset(&ev, 0xff, sizeof(ev));
	ev.dynamic_name = NULL;
	ev.args = args;
	event_scan(&ev);
	assert_int_equal(ev.parts, EVENT_EXTRA_COUNTERS);
	assert_null(ev.track);
}

/* ---- tracks and counters ---- */

TEST(ancestors_of_a_track_come_before_it_and_once)
{
	struct sonda_track a = sonda_track_named("a", 0, NULL);
	struct sonda_track b = sonda_track_named("b", 0, &a);
	struct sonda_track c = sonda_track_named("c", 0, &b);
	uint64_t parent = process_identity.uuid;

	fake_start(NULL, 0);
	SONDA_BEGIN(net, "x", SONDA_TRACK(&c));
	SONDA_END(net, SONDA_TRACK(&c));
	assert_int_equal(fake.n, PREAMBLE + 3 + 2);
	for (size_t i = 0; i < 3; i++) {
		struct pb_field t = packet_field(PREAMBLE + i, PB_TRACE_PACKET_TRACK_DESCRIPTOR);

		assert_int_equal(field_of(t.data, t.len, PB_TRACK_DESCRIPTOR_PARENT_UUID).u64,
				 parent);
		parent = field_of(t.data, t.len, PB_TRACK_DESCRIPTOR_UUID).u64;
	}
	assert_int_equal(parent, sonda_track_uuid(&c));
	assert_int_equal(event_field(PREAMBLE + 3, PB_TRACK_EVENT_TRACK_UUID).u64, parent);
}

TEST(uuids_of_threads_and_global_tracks)
{
	struct sonda_track thread = sonda_track_thread(), global = sonda_track_global();
	struct sonda_track of_thread = sonda_track_custom(5, &thread);
	struct sonda_track of_all = sonda_track_custom(5, &global);

	fake_start(NULL, 0);
	assert_int_equal(sonda_track_uuid(&thread), 0x2B66EDE09940D475);
	assert_int_equal(sonda_track_uuid(&of_thread), 0x2B66EDE09940D475 ^ 5);
	assert_int_equal(sonda_track_uuid(&of_all), 5);
	assert_int_equal(sonda_track_uuid(&global), 0);
	SONDA_INSTANT(net, "x", SONDA_TRACK(&global));
	assert_int_equal(fake.n, PREAMBLE + 1);
	assert_int_equal(event_field(PREAMBLE, PB_TRACK_EVENT_TRACK_UUID).id,
			 PB_TRACK_EVENT_TRACK_UUID);
	SONDA_INSTANT(net, "x", SONDA_TRACK(&thread)); /* is described already */
	assert_int_equal(fake.n, PREAMBLE + 2);
}

TEST(an_incremental_counter_begins_anew_after_a_clear)
{
	struct sonda_track t = sonda_track_counter("n", NULL);

	t.is_incremental = 1;
	fake_start(NULL, 0);
	SONDA_COUNTER(net, &t, 10);
	SONDA_COUNTER(net, &t, 7);
	assert_int_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_COUNTER_VALUE).u64, 10);
	assert_int_equal((int64_t)event_field(PREAMBLE + 2, PB_TRACK_EVENT_COUNTER_VALUE).u64, -3);
	fake_forget();
	fake.cleared = true;
	SONDA_COUNTER(net, &t, 8);
	assert_int_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_COUNTER_VALUE).u64, 8);
}

TEST(a_state_is_the_name_of_an_event_on_a_state_track)
{
	struct sonda_track t = sonda_track_state("link", 7, NULL);
	struct pb_field f;

	fake_start(NULL, 0);
	SONDA_STATE(net, &t, "up", SONDA_INT("n", 1));
	f = packet_field(PREAMBLE, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	assert_int_equal(field_of(f.data, f.len, PB_TRACK_DESCRIPTOR_UUID).u64,
			 sonda_track_uuid(&t));
	f = field_of(f.data, f.len, PB_TRACK_DESCRIPTOR_STATE);
	assert_int_equal(f.id, PB_TRACK_DESCRIPTOR_STATE);
	assert_int_equal(f.len, 0);
	SONDA_STATE_DYNAMIC(net, &t, "down");
	SONDA_STATE_END(net, &t);
	assert_int_equal(fake.n, PREAMBLE + 4);
	for (size_t i = PREAMBLE + 1; i < fake.n; i++) {
		assert_int_equal(event_field(i, PB_TRACK_EVENT_TYPE).u64, SONDA_EVENT_STATE);
		assert_int_equal(event_field(i, PB_TRACK_EVENT_TRACK_UUID).u64,
				 sonda_track_uuid(&t));
		assert_int_equal(event_field(i, PB_TRACK_EVENT_CATEGORY_IIDS).u64, 1);
	}
	assert_int_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_NAME_IID).u64, 1);
	assert_int_not_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_DEBUG_ANNOTATIONS).id, 0);
	assert_memory_equal(event_field(PREAMBLE + 2, PB_TRACK_EVENT_NAME).data, "down", 4);
	assert_int_equal(event_field(PREAMBLE + 3, PB_TRACK_EVENT_NAME).id, 0);
	assert_int_equal(event_field(PREAMBLE + 3, PB_TRACK_EVENT_NAME_IID).id, 0);
}

TEST(more_tracks_than_a_sequence_remembers_reset_it)
{
	unsigned resets = 0;

	fake_start(NULL, 0);
	for (uint64_t i = 0; i < 3 * TRACK_SET_MAX; i++) {
		struct sonda_track t = sonda_track_custom(i + 1, NULL);

		SONDA_INSTANT(net, "x", SONDA_TRACK(&t));
		assert_true(event_field(fake.n - 1, PB_TRACK_EVENT_TRACK_UUID).u64 != 0);
		for (size_t k = 0; k < fake.n; k++)
			resets += packet_field(k, PB_TRACE_PACKET_SEQUENCE_FLAGS).u64 == 1;
		fake_forget();
	}
	assert_in_range(resets, 3, 5);
	assert_true(fake.sequence.tracks.used <= TRACK_SET_MAX);
}

/* ---- arguments ---- */

TEST(filters_drop_annotations_and_dynamic_names)
{
	fake_start("\x38\x01\x48\x01", 4);
	SONDA_INSTANT_DYNAMIC(net, "secret", SONDA_INT("n", 1), SONDA_FIELD_INT(9900, 7));
	assert_int_equal(event_field(PREAMBLE, PB_TRACK_EVENT_DEBUG_ANNOTATIONS).id, 0);
	assert_int_equal(event_field(PREAMBLE, 9900).u64, 7);
	assert_memory_equal(event_field(PREAMBLE, PB_TRACK_EVENT_NAME).data, "FILTERED", 8);
}

TEST(what_is_nested_too_deep_is_left_out_and_what_is_open_is_closed)
{
	struct sonda_arg args[64];
	struct pb_field f;
	int n = 0;

	for (int i = 0; i < 20; i++)
		args[n++] = sonda_arg_u(SONDA_ARG_DICT, SONDA_STATIC_STRING("d"), 0);
	args[n++] = SONDA_INT("deep", 1);
	for (int i = 0; i < 19; i++)
		args[n++] = sonda_arg_end(SONDA_ARG_CLOSE);
	args[n++] = SONDA_INT("inner", 2);
	args[n++] = sonda_arg_end(SONDA_ARG_LIST_END);
	fake_start(NULL, 0);
	for (int i = 0; i < 2; i++)
		sonda_event(&net, SONDA_EVENT_INSTANT, NULL, args);
	f = event_field(PREAMBLE, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	assert_int_equal(field_of(f.data, f.len, PB_DEBUG_ANNOTATION_INT_VALUE).id, 0);
	f = field_of(f.data, f.len, PB_DEBUG_ANNOTATION_DICT_ENTRIES);
	assert_int_equal(field_of(f.data, f.len, PB_DEBUG_ANNOTATION_INT_VALUE).u64, 2);
	f = event_field(PREAMBLE + 1, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	assert_true(f.len > 0);
	sonda_event(&net, SONDA_EVENT_INSTANT, NULL,
		    (struct sonda_arg[]){sonda_arg_end(SONDA_ARG_CLOSE), SONDA_INT("a", 1),
					 sonda_arg_end(SONDA_ARG_LIST_END)});
	f = event_field(PREAMBLE + 2, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	assert_int_equal(field_of(f.data, f.len, PB_DEBUG_ANNOTATION_INT_VALUE).u64, 1);
}

TEST(fields_by_number_and_annotations_do_not_meet)
{
	struct pb_field f;

	fake_start(NULL, 0);
	SONDA_INSTANT(net, "x",
		      SONDA_FIELD_MESSAGE(9900, SONDA_FIELD_INT(1, 5),
					  SONDA_FIELD_MESSAGE(2, SONDA_FIELD_STRING(3, "deep"))),
		      SONDA_DICT("d", SONDA_INT("i", -1)), SONDA_FIELD_DOUBLE(9901, 1.5));
	f = event_field(PREAMBLE, 9900);
	assert_int_equal(field_of(f.data, f.len, 1).u64, 5);
	f = field_of(f.data, f.len, 2);
	assert_memory_equal(field_of(f.data, f.len, 3).data, "deep", 4);
	assert_int_equal(event_field(PREAMBLE, 9901).u64, 0x3ff8000000000000);
	f = event_field(PREAMBLE, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	f = field_of(f.data, f.len, PB_DEBUG_ANNOTATION_DICT_ENTRIES);
	assert_int_equal((int64_t)field_of(f.data, f.len, PB_DEBUG_ANNOTATION_INT_VALUE).u64, -1);
}

TEST(a_scope_ends_its_slice_however_it_is_left)
{
	fake_start(NULL, 0);
	for (int i = 0; i < 2; i++) {
		SONDA_SCOPE(net, "outer", SONDA_INT("i", i));
		if (i == 0)
			continue;
		SONDA_SCOPE(net, "inner");
	}
	assert_int_equal(fake.n, PREAMBLE + 6);
	assert_int_equal(event_field(PREAMBLE + 1, PB_TRACK_EVENT_TYPE).u64, SONDA_EVENT_END);
	assert_int_equal(event_field(PREAMBLE + 3, PB_TRACK_EVENT_TYPE).u64, SONDA_EVENT_BEGIN);
	assert_int_equal(event_field(PREAMBLE + 5, PB_TRACK_EVENT_TYPE).u64, SONDA_EVENT_END);
}

/* ---- the short way and the long one ---- */

static struct sonda_string *random_name(uint64_t *rng)
{
	static struct sonda_string names[] = {{"a", 0, 0}, {"bb", 0, 0}, {"a longer name", 0, 0}};

	return &names[rng_below(rng, 3)];
}

static uint64_t random_number(uint64_t *rng)
{
	return rng_any_size(rng);
}

static int random_args(uint64_t *rng, struct sonda_arg *args, const struct sonda_track *track)
{
	static const char text[] = "a text of some bytes that may be cut somewhere";
	int n = 0;

	for (unsigned left = rng_below(rng, 6); left > 0; left--) {
		struct sonda_string *name = random_name(rng);
		uint64_t v = random_number(rng);

		switch (rng_below(rng, 10)) {
		case 0:
			args[n++] = sonda_arg_u(SONDA_ARG_INT, name, v);
			break;
		case 1:
			args[n++] = sonda_arg_u(SONDA_ARG_UINT, name, v);
			break;
		case 2:
			args[n++] = sonda_arg_d(SONDA_ARG_DOUBLE, name, (double)v);
			break;
		case 3:
			args[n++] = sonda_arg_p(SONDA_ARG_STRING, name, text,
						rng_below(rng, sizeof(text)));
			break;
		case 4:
			args[n++] = sonda_arg_u(SONDA_ARG_DICT, name, 0);
			break;
		case 5:
			args[n++] = sonda_arg_end(SONDA_ARG_CLOSE);
			break;
		case 6:
			args[n++] = sonda_arg_nu(SONDA_ARG_FLOW, v & 1, v);
			break;
		case 7:
			args[n++] = sonda_arg_p(SONDA_ARG_TRACK, NULL, track, 0);
			break;
		case 8:
			args[n++] = sonda_arg_nu(SONDA_ARG_FIELD_VARINT, 9900, v);
			break;
		case 9:
			args[n++] = sonda_arg_nu(SONDA_ARG_TIMESTAMP, 6, v);
			break;
		}
	}
	args[n++] = sonda_arg_end(SONDA_ARG_LIST_END);
	return n;
}

/* A bound that is too low makes the fake's small packet too long, and fails there. */
TEST(short_packets_have_the_same_bytes_as_long_ones)
{
	struct sonda_track track = sonda_track_named("t", 1, NULL);
	uint64_t rng = 1;
	struct sonda_arg args[16];
	int small = 0;

	for (int i = 0; i < 20000; i++) {
		struct sonda_string *name = random_name(&rng);

		fake_now += rng_below(&rng, 100000);
		if (i % 1000 == 0)
			fake_start(NULL, 0);
		random_args(&rng, args, &track);
		sonda_event(&net, SONDA_EVENT_BEGIN, name, args);
		fake.small_refused = false;
		fake_forget();
		uint64_t last = fake.sequence.last_ns;
		sonda_event(&net, SONDA_EVENT_BEGIN, name, args);
		small += fake.enc.end - fake.enc.begin == FAKE_SMALL;
		fake.sequence.last_ns = last;
		fake.small_refused = true;
		sonda_event(&net, SONDA_EVENT_BEGIN, name, args);
		assert_int_equal(fake.n, 2);
		assert_int_equal(fake.packets[0].len, fake.packets[1].len);
		assert_memory_equal(fake.packets[0].data, fake.packets[1].data,
				    fake.packets[0].len);
	}
	assert_true(small > 5000);
	fake_stop();
}
