/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is printed while it records, from the service's counters and the files of the kernel's
 * rings.
 */
#include "unit/test.h"

#include "base/system/fs.h"
#include "base/system/log.h"
#include "cli/record/progress.h"
#include "cli/record/stream_watch.h"
#include "unit/proto_text.h"
#include "unit/temp_dir.h"

static struct recording_progress progress;
static struct console console = {.verbose = true}; /* prints the progress as lines */
static Pb__TraceConfig *config;
static Pb__TraceStats *stats;
static char *printed; /* since the last call of capture() */

static int setup(void **state)
{
	progress = (struct recording_progress){0};
	log_init("sonda");
	return temp_dir_setup(state);
}

static int teardown(void **state)
{
	recording_progress_deinit(&progress);
	pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	pb__trace_stats__free_unpacked(TAKE_PTR(stats), NULL);
	free(TAKE_PTR(printed));
	return temp_dir_teardown(state);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

static void set_config(const char *text)
{
	pb__trace_config__free_unpacked(config, NULL);
	config = (Pb__TraceConfig *)proto_parse(&pb__trace_config__descriptor, text);
}

static void set_stats(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	pb__trace_stats__free_unpacked(stats, NULL);
	stats = (Pb__TraceStats *)proto_parse(&pb__trace_stats__descriptor, text);
}

/* stderr goes into a file from begin on; afterwards `printed` has it. */
static int saved_stderr;

static void capture(void *const *state)
{
	fflush(stdout);
	saved_stderr = dup(STDERR_FILENO);
	dup2(open(temp_dir_path(state, 3, "stderr"), O_CREAT | O_TRUNC | O_WRONLY, 0600),
	     STDERR_FILENO);
}

static const char *captured(void *const *state)
{
	struct strbuf b = {0};

	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	assert_int_equal(fs_read_file(temp_dir_path(state, 3, "stderr"), 10000, &b), 0);
	free(printed);
	printed = b.s ? strbuf_take(&b) : strdup("");
	return printed;
}

static const char *shown(void *const *state, uint64_t elapsed_ms)
{
	capture(state);
	recording_progress_show(&progress, elapsed_ms, &console);
	return captured(state);
}

static void write_file(void *const *state, const char *name, const char *text)
{
	char path[512], *slash;
	FILE *f;

	snprintf(path, sizeof(path), "%s", temp_dir_path(state, 0, name));
	for (slash = path + strlen(*state) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The instance of a producer with pid 6 and the session 3. */
#define INSTANCE "instances/sonda-6-3/"

static void find_instance(void *const *state)
{
	Pb__TracingServiceState *s = (Pb__TracingServiceState *)proto_parse(
		&pb__tracing_service_state__descriptor,
		"producers { name: 'other' pid: 4 } producers { name: 'a.probes' pid: 5 }"
		"producers { name: 'b.probes' pid: 6 } producers { name: 'c.probes' }"
		"producers { pid: 9 }");

	for (int i = 0; i < 3; i++) /* more producers than there is room for are no error */
		recording_progress_update_state(&progress, s);
	pb__tracing_service_state__free_unpacked(s, NULL);
	set_stats("tracing_session_id: 3");
	recording_progress_update_stats(&progress, *state, stats);
}

FIXTURE_TEST(the_line_has_what_is_known)
{
	assert_string_equal(shown(state, 0), "sonda: 0 s\n");
	/* Ticks come a little late or early. */
	assert_string_equal(shown(state, 12999), "sonda: 13 s\n");
	assert_string_equal(shown(state, 12499), "sonda: 12 s\n");
	progress.duration_ms = 1500;
	assert_string_equal(shown(state, 1000), "sonda: 1 s of 1.5 s\n");
	progress.duration_ms = 60000;
	/* The bytes are those of all buffers. */
	set_stats(
		"buffer_stats { bytes_written: 21000000 } buffer_stats { bytes_written: 400000 }");
	recording_progress_update_stats(&progress, NULL, stats);
	assert_string_equal(shown(state, 2000), "sonda: 2 s of 60 s   20.4 MiB   buffers 0%\n");
}

FIXTURE_TEST(the_line_has_the_counters_of_the_rings)
{
	write_file(state, INSTANCE "per_cpu/cpu0/stats",
		   "entries: 100\noverrun: 20\ncommit overrun: 3\nbytes: 3000\n"
		   "oldest event ts:  5.1\nnow ts:  6.2\ndropped events: 4\nread events: 1000\n");
	write_file(state, INSTANCE "per_cpu/cpu11/stats",
		   "entries: 1\noverrun: 4294967296\ncommit overrun: 0\nbytes: 0\n"
		   "dropped events: 0\nread events: 2");
	/* A file of another form counts nothing. */
	write_file(state, INSTANCE "per_cpu/cpu12/stats",
		   "entries 5\nxoverrun: 7\n\n: 9\nread events:");
	write_file(state, INSTANCE "per_cpu/cpu0/buffer_size_kb", "7 (expanded: 1408)\n");
	find_instance(state);
	assert_string_equal(shown(state, 0),
			    "sonda: 0 s   4,294,968,426 events   0 B   4,294,967,323 lost\n");
	/* The rate, the chunks that the service lost, and the fullest ring. */
	write_file(state, INSTANCE "per_cpu/cpu12/stats", "entries: 1000\n");
	set_stats("buffer_stats { chunks_discarded: 2 buffer_size: 100 bytes_written: 12 }");
	recording_progress_update_stats(&progress, *state, stats);
	assert_string_equal(shown(state, 2000),
			    "sonda: 2 s   4,294,969,426 events (500/s)   12 B   "
			    "buffers 41%   4,294,967,325 lost\n");
}

FIXTURE_TEST(an_instance_of_another_session_is_not_read)
{
	write_file(state, "instances/sonda-6-2/per_cpu/cpu0/stats", "entries: 100\n");
	write_file(state, "instances/sonda-4-3/per_cpu/cpu0/stats", "entries: 100\n");
	find_instance(state);
	assert_string_equal(shown(state, 1000), "sonda: 1 s   0 B\n");
	/* Nor without tracefs, or without the number of the session. */
	write_file(state, INSTANCE "per_cpu/cpu0/stats", "entries: 100\n");
	recording_progress_update_stats(&progress, NULL, stats);
	assert_null(progress.instance);
	set_stats("");
	recording_progress_update_stats(&progress, *state, stats);
	assert_null(progress.instance);
}

/* Each is reported once. */
FIXTURE_TEST(a_nearly_full_buffer_and_the_size_that_would_do)
{
	static const char full[] = /* 11.9 of 12 MiB are in use */
		"buffer_stats { buffer_size: 12582912 bytes_written: 13107200 bytes_read: 655360 }";
	struct recording_setup s = {0};
	struct strbuf note = {0};

	set_config("duration_ms: 60000 buffers { fill_policy: RING_BUFFER }");
	s.config = config;
	set_stats(full);
	assert_false(recording_progress_put_warning(&progress, &s, stats, 10000, &note));
	set_config("duration_ms: 60000 buffers { fill_policy: DISCARD }");
	s.config = config;
	set_stats("buffer_stats { buffer_size: 12582912 bytes_written: 13107200 "
		  "bytes_read: 3801088 }");
	assert_false(recording_progress_put_warning(&progress, &s, stats, 10000, &note));
	set_stats(full);
	assert_true(recording_progress_put_warning(&progress, &s, stats, 10000, &note));
	assert_string_equal(note.s, "buffer 0 (12 MiB) is 98% full, and data that does not fit is "
				    "discarded; size_kb: 131072 would be enough");
	assert_false(recording_progress_put_warning(&progress, &s, stats, 11000, &note));
	strbuf_deinit(&note);
}

FIXTURE_TEST(rings_that_lose_events_and_their_size)
{
	struct recording_setup s = {.from_words = true};
	struct strbuf note = {0};

	set_config("");
	s.config = config;
	write_file(state, INSTANCE "per_cpu/cpu0/stats", "overrun: 0\n");
	write_file(state, INSTANCE "per_cpu/cpu0/buffer_size_kb", "12\n");
	find_instance(state);
	assert_false(recording_progress_put_warning(&progress, &s, stats, 1000, &note));
	write_file(state, INSTANCE "per_cpu/cpu0/stats", "overrun: 5000\n");
	assert_true(recording_progress_put_warning(&progress, &s, stats, 2000, &note));
	assert_string_equal(note.s, "the kernel's rings have lost 5,000 events so far; "
				    "try -B 1mb or fewer events");
	assert_false(recording_progress_put_warning(&progress, &s, stats, 3000, &note));
	/* With a config of the user it names the field. */
	progress.reported_rings = s.from_words = false;
	strbuf_clear(&note);
	assert_true(recording_progress_put_warning(&progress, &s, stats, 4000, &note));
	assert_non_null(strstr(note.s, "try buffer_size_kb: 1024 in ftrace_config"));
	strbuf_deinit(&note);
}

/* The counters of a buffer of 32 MiB, one row a second. */
FIXTURE_TEST(an_output_that_does_not_keep_up)
{
#define SLOW(what) "sonda: the output is too slow: " what "\n"
	static const struct {
		uint64_t written, read, lost, stalled_ms;
		const char *printed;
	} rows[] = {
		{0, 0, 0, 0, ""},
		{50 << 20, (50 << 20) - 1000, 0, 0, ""},
		/* It falls behind, and keeps up again: reported once. */
		{71 << 20, 52 << 20, 0, 0, SLOW("19 MiB waiting in the service's buffer")},
		{80 << 20, 53 << 20, 0, 0, ""},
		{80 << 20, 70 << 20, 0, 0, ""},
		{80 << 20, 79 << 20, 0, 0, "sonda: the output is accepting data again\n"},
		{80 << 20, 80 << 20, 0, 0, ""},
		/* It accepts nothing, however little waits. */
		{81924096, 81920000, 0, 2000, ""},
		{81924096, 81920000, 0, 3000,
		 "sonda: the output is not accepting data: 4 KiB waiting in the service's "
		 "buffer\n"},
		{81924096, 81920000, 0, 4000, ""},
		{81924096, 81924096, 0, 0, "sonda: the output is accepting data again\n"},
		/* A packet whose end was not committed is no stalled output. */
		{81964096, 81924096, 0, 0, ""},
		{81964096, 81924096, 0, 0, ""},
		/* Each loss is reported. */
		{164 << 20, 110 << 20, 5, 0,
		 SLOW("the service's buffer is full (54 MiB waiting), and data is lost")},
		{165 << 20, 111 << 20, 5, 0, ""},
		{166 << 20, 112 << 20, 6, 0,
		 SLOW("the service's buffer is full (54 MiB waiting), and data is lost")},
	};
	struct stream_watch watch = {0};

	set_config("buffers { size_kb: 32768 }");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		set_stats("buffer_stats { bytes_written: %llu bytes_read: %llu "
			  "chunks_overwritten: %llu } file_stalled_ms: %llu",
			  (unsigned long long)rows[i].written, (unsigned long long)rows[i].read,
			  (unsigned long long)rows[i].lost, (unsigned long long)rows[i].stalled_ms);
		capture(state);
		stream_watch_check(&watch, stats, config, &console);
		assert_string_equal(captured(state), rows[i].printed);
	}
}
