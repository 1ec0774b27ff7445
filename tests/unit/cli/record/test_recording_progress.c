// SPDX-License-Identifier: Apache-2.0
/* What goes into the line; the line itself is progress.c's. */

#include "unit/test.h"
#include "config/text.h"
#include "unit/temp_dir.h"
#include "cli/record/progress.h"

static void note_state(struct recording_progress *p, const char *text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m;

	assert_int_equal(text_parse(&pb__tracing_service_state__descriptor, "test", text,
				    strlen(text), &errors, &m),
			 0);
	recording_progress_note_state(p, (Pb__TracingServiceState *)m);
	protobuf_c_message_free_unpacked(m, NULL);
}

static void note_stats(struct recording_progress *p, const char *root, const char *text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m;

	assert_int_equal(
		text_parse(&pb__trace_stats__descriptor, "test", text, strlen(text), &errors, &m),
		0);
	recording_progress_note_stats(p, root, (Pb__TraceStats *)m);
	protobuf_c_message_free_unpacked(m, NULL);
}

static void make(void **state, const char *name)
{
	assert_int_equal(mkdir(temp_dir_path(state, 0, name), 0700), 0);
}

TEST(test_bytes_of_all_buffers)
{
	struct recording_progress p = {0};

	assert_false(p.shown.has_bytes);
	note_stats(&p, NULL, "buffer_stats { bytes_written: 5 } buffer_stats { bytes_written: 7 }");
	assert_true(p.shown.has_bytes);
	assert_int_equal(p.shown.bytes, 12);
	note_stats(&p, NULL, "buffer_stats { bytes_written: 9 }");
	assert_int_equal(p.shown.bytes, 9);
}

#define IN_DIR(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

IN_DIR(test_the_instance_of_one_of_the_producers)
{
	struct recording_progress p = {0};

	note_state(&p, "producers { name: 'other' pid: 4 } producers { name: 'a.probes' pid: 5 }"
		       "producers { name: 'b.probes' pid: 6 } producers { name: 'c.probes' }"
		       "producers { pid: 9 }");
	assert_int_equal(p.n_probes, 2);
	note_stats(&p, *state, "tracing_session_id: 3");
	assert_null(p.instance); /* not yet */
	make(state, "instances");
	make(state, "instances/sonda-4-3");
	make(state, "instances/sonda-6-2");
	note_stats(&p, *state, "tracing_session_id: 3");
	assert_null(p.instance); /* of somebody, or something, else */
	make(state, "instances/sonda-6-3");
	note_stats(&p, *state, "");
	note_stats(&p, NULL, "tracing_session_id: 3");
	assert_null(p.instance);
	note_stats(&p, *state, "tracing_session_id: 3");
	assert_string_equal(p.instance, temp_dir_path(state, 0, "instances/sonda-6-3"));
	recording_progress_deinit(&p);
	assert_null(p.instance);
}

TEST(test_the_number_of_producers_has_a_limit)
{
	struct recording_progress p = {0};
	struct strbuf b = {0};

	for (int i = 0; i < RECORDING_PROGRESS_MAX_PROBES + 3; i++)
		strbuf_printf(&b, "producers { name: 'probes' pid: %d } ", i + 1);
	note_state(&p, b.s);
	assert_int_equal(p.n_probes, RECORDING_PROGRESS_MAX_PROBES);
	strbuf_deinit(&b);
}

IN_DIR(test_what_the_rings_count_is_shown)
{
	struct recording_progress p = {0};
	struct console console = {0};
	FILE *f;

	make(state, "per_cpu");
	make(state, "per_cpu/cpu0");
	f = fopen(temp_dir_path(state, 0, "per_cpu/cpu0/stats"), "w");
	fputs("entries: 3\noverrun: 4\ncommit overrun: 0\ndropped events: 1\nread events: 10\n", f);
	fclose(f);
	recording_progress_show(&p, 1000, &console);
	assert_false(p.shown.has_events);
	p.instance = strdup(*state);
	recording_progress_show(&p, 2000, &console);
	assert_int_equal(p.shown.elapsed_ms, 2000);
	assert_true(p.shown.has_events);
	assert_true(p.shown.events >= 17);
	assert_int_equal(p.shown.lost, 5);
	recording_progress_deinit(&p);
}
