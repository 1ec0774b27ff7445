/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of the data source, where there is no kernel to record: it answers everything, and its
 * stats say why it is empty. With a kernel: tests/root/test_ftrace.sh.
 */

#include <event2/event.h>

#include "base/system/log.h"
#include "ftrace/session/data_sources.h"
#include "unit/ftrace/fake_producer.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/ftrace/formats.h"
#include "unit/ftrace/packets.h"
#include "unit/ftrace/page_maker.h"
#include "wire/pb_enc.h"

static struct ds_handle h;
static struct event_base *loop;
static void *instance;

SETUP
{
	fake_root_new();
	log_set_level(LOG_LEVEL_ERROR);
	h = (struct ds_handle){.session_id = 9};
	loop = event_base_new();
}

TEARDOWN
{
	event_base_free(loop);
	fake_root_remove();
}

static void create_with(const char *proc_root, bool symbols)
{
	const struct ds_env env = {.loop = loop, .sys_root = "/nowhere", .proc_root = proc_root};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__FtraceConfig ftrace = PB__FTRACE_CONFIG__INIT;
	char *events[] = {"sched/sched_switch"};

	ftrace.ftrace_events = events;
	ftrace.n_ftrace_events = 1;
	ftrace.has_symbolize_ksyms = 1;
	ftrace.symbolize_ksyms = symbols;
	config.ftrace_config = &ftrace;
	assert_int_equal(ftrace_data_source.create(&h, &env, &config, &instance), 0);
}

static void create(void)
{
	create_with("/nowhere", false);
}

/* How often the trace has that text. */
static unsigned in_trace(const char *part)
{
	return packets_count(h.writer, part);
}

#define START "ftrace_stats { phase: 1"
#define END "ftrace_stats { phase: 2"
#define PROBLEM "atrace_errors: "
#define BUNDLE "ftrace_events {"

FIXTURE_TEST(start_flush_stop)
{
	create();
	ftrace_data_source.start(instance);
	assert_int_equal(h.started, 1);
	/* What was refused is committed before the first event. */
	assert_int_equal(h.writer->flushes, 1);
	assert_int_equal(in_trace(START), 1);
	assert_int_equal(in_trace(END), 0);
	assert_int_equal(in_trace(PROBLEM), 1);
	ftrace_data_source.flush(instance, 5); /* there is nothing to wait for */
	assert_int_equal(h.flushed, 1);
	assert_int_equal(h.last_flush, 5);
	assert_int_equal(h.writer->flushes, 2);
	assert_int_equal(in_trace(START), 2);
	assert_int_equal(in_trace(END), 1);

	ftrace_data_source.stop(instance);
	ftrace_data_source.stop(instance);
	assert_int_equal(h.stopped, 1);
	assert_int_equal(in_trace(START), 2); /* nothing is new */
	ftrace_data_source.flush(instance, 7);
	assert_int_equal(h.last_flush, 7);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	ftrace_data_source.destroy(instance);
	assert_int_equal(h.stopped, 1);
}

static void stop_from_inside(struct ds_handle *handle)
{
	if (handle->flushed && !handle->stopped) {
		handle->on_answer = NULL;
		ftrace_data_source.stop(instance);
	}
}

FIXTURE_TEST(a_stop_from_inside_an_answer)
{
	create();
	h.on_answer = stop_from_inside;
	ftrace_data_source.start(instance);
	ftrace_data_source.flush(instance, 1);
	assert_int_equal(h.flushed, 1);
	assert_int_equal(h.stopped, 1);
	ftrace_data_source.destroy(instance);
}

/* The last match of the text in the trace; NULL: none. */
static const char *last_in_trace(const char *part)
{
	const char *last = NULL;

	for (const char *at = packets_text(h.writer); (at = strstr(at, part)); at++)
		last = at + strlen(part);
	return last;
}

/* The last stats have so many symbols, and the last failure begins so; "": there is none. */
static void expect_symbols(unsigned want, const char *failed, const char *file, int line)
{
	const char *symbols = last_in_trace("kernel_symbols_parsed: "), *failure;

	_assert_int_equal(symbols ? atoi(symbols) : 0, want, file, line);
	failure = last_in_trace("failed_ftrace_events: '");
	if (*failed ? !failure || !str_starts(failure, failed) : failure != NULL) {
		print_error("%s\n", packets_text(h.writer));
		_fail(file, line);
	}
}
#define assert_symbols(want, failed) expect_symbols(want, failed, __FILE__, __LINE__)

FIXTURE_TEST(it_starts_when_the_symbols_are_there)
{
	fake_text("kallsyms", "1000 T first\n2000 T second\n");
	create_with(fake_root, true);
	ftrace_data_source.start(instance);
	assert_int_equal(h.started, 0);
	for (unsigned i = 0; i < 100 && !h.started; i++)
		event_base_loop(loop, EVLOOP_ONCE);
	assert_int_equal(h.started, 1);
	ftrace_data_source.flush(instance, 1);
	assert_symbols(2, "");
	ftrace_data_source.destroy(instance);
}

FIXTURE_TEST(a_stop_waits_for_symbols)
{
	fake_text("kallsyms", "1000 T first\n");
	create_with(fake_root, true);
	ftrace_data_source.start(instance);
	ftrace_data_source.stop(instance);
	assert_int_equal(h.stopped, 0);
	ftrace_data_source.flush(instance, 1); /* a flush that crosses the stop */
	assert_int_equal(h.flushed, 1);
	for (unsigned i = 0; i < 100 && !h.stopped; i++)
		event_base_loop(loop, EVLOOP_ONCE);
	assert_int_equal(h.started, 1);
	assert_int_equal(h.stopped, 1);
	assert_symbols(1, "");
	ftrace_data_source.destroy(instance);

	for (unsigned stopped = 0; stopped < 2; stopped++) {
		h = (struct ds_handle){.session_id = 9};
		create_with(fake_root, true);
		ftrace_data_source.start(instance);
		if (stopped)
			ftrace_data_source.stop(instance);
		ftrace_data_source.destroy(instance); /* at once */
		assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	}
}

FIXTURE_TEST(symbols_that_cannot_be_had)
{
	fake_text("kallsyms", "0000000000000000 T hidden\n");
	create_with(fake_root, true);
	ftrace_data_source.start(instance);
	assert_int_equal(h.started, 1);
	ftrace_data_source.flush(instance, 1);
	assert_symbols(0, "option:symbolize_ksyms (/proc/kallsyms shows no addresses");
	ftrace_data_source.destroy(instance);
}

FIXTURE_TEST(destroyed_at_any_time)
{
	create();
	ftrace_data_source.destroy(instance);

	create();
	ftrace_data_source.start(instance);
	ftrace_data_source.destroy(instance);

	create();
	ftrace_data_source.start(instance);
	ftrace_data_source.flush(instance, 1);
	ftrace_data_source.stop(instance); /* a lost service */
	ftrace_data_source.destroy(instance);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	assert_int_equal(h.stopped, 1);
}

/* ---- with a ring: a FIFO in an instance of another process ---- */

#define PLACE "instances/x/"
#define EVENT "events/sched/sched_process_wait/"

static int ring = -1;
static bool place_records; /* before the session, too */

static void make_place(void)
{
	const char *format =
		format_text("sched_process_wait", 1, FORMAT_COMMON, FIELD("pid_t pid", 8, 4, 1));
	char path[300];

	fake_text(PLACE "events/header_page", HEADER_PAGE);
	fake_text(PLACE "buffer_size_kb", "4096\n");
	fake_text(PLACE "trace_clock", "[boot]\n");
	fake_text(PLACE "tracing_on", place_records ? "1\n" : "0\n");
	fake_text(PLACE "trace", "");
	fake_text(PLACE EVENT "enable", "0\n");
	fake_text(PLACE EVENT "format", format);
	fake_text(EVENT "format", format);
	fake_text(PLACE "per_cpu/cpu0/stats", "entries: 0\noverrun: 3\n");
	snprintf(path, sizeof(path), "%s/" PLACE "per_cpu/cpu0/trace_pipe_raw", fake_root);
	assert_int_equal(mkfifo(path, 0600), 0);
	ring = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_true(ring >= 0);
}

static void run_until(const unsigned *counter, unsigned want)
{
	while (*counter < want)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
}

/* uprobe: NULL: none. stop_timeout_ms: 0: no symbols. */
static void create_in_place(char *uprobe, uint32_t stop_timeout_ms)
{
	const struct ds_env env = {
		.loop = loop,
		.sys_root = "/nowhere",
		.proc_root = stop_timeout_ms ? fake_root : "/nowhere",
		.tracefs_root = fake_root,
	};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__FtraceConfig ftrace = PB__FTRACE_CONFIG__INIT;
	char *events[] = {"sched/sched_process_wait"};

	make_place();
	ftrace.ftrace_events = events;
	ftrace.n_ftrace_events = 1;
	ftrace.instance_name = "x";
	ftrace.has_drain_period_ms = 1;
	ftrace.drain_period_ms = 60000;
	ftrace.uprobe_events = &uprobe;
	ftrace.n_uprobe_events = uprobe != NULL;
	ftrace.has_symbolize_ksyms = ftrace.symbolize_ksyms = stop_timeout_ms != 0;
	config.has_stop_timeout_ms = true;
	config.stop_timeout_ms = stop_timeout_ms;
	config.ftrace_config = &ftrace;
	assert_int_equal(ftrace_data_source.create(&h, &env, &config, &instance), 0);
}

static void start_in_place(char *uprobe, uint32_t stop_timeout_ms)
{
	create_in_place(uprobe, stop_timeout_ms);
	ftrace_data_source.start(instance);
}

static void create_with_ring(void)
{
	unsigned before = h.started;

	start_in_place(NULL, 0);
	run_until(&h.started, before + 1);
}

static void destroy_with_ring(void)
{
	ftrace_data_source.destroy(instance);
	close(ring);
}

static void put_page(void)
{
	static const uint8_t payload[12] = {1};
	struct page_maker m;

	page_begin(&m, 1000);
	ring_record(&m, 1, payload, sizeof(payload));
	page_end(&m, 0, 0);
	assert_int_equal(write(ring, m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
}

FIXTURE_TEST(a_flush_is_answered_when_the_rings_are_read)
{
	create_with_ring();
	put_page();
	ftrace_data_source.flush(instance, 5);
	assert_int_equal(h.flushed, 0);
	ftrace_data_source.flush(instance, 6);
	run_until(&h.flushed, 1);
	assert_int_equal(in_trace(BUNDLE), 1);
	assert_true(h.writer->flushes > 0);
	run_until(&h.flushed, 2);
	assert_int_equal(h.last_flush, 6);
	destroy_with_ring();
}

FIXTURE_TEST(a_stop_reads_what_is_left)
{
	create_with_ring();
	put_page();
	ftrace_data_source.stop(instance);
	assert_int_equal(h.stopped, 0);
	put_page();
	run_until(&h.stopped, 1);
	assert_true(in_trace(BUNDLE) >= 1);
	assert_string_equal(fake_read(PLACE "tracing_on"), "0");
	destroy_with_ring();
}

/* What was lost behind the last record that was recorded is lost all the same. */
FIXTURE_TEST(a_stop_reports_losses_without_records)
{
	for (unsigned more = 0; more < 2; more++) {
		create_with_ring();
		ftrace_data_source.flush(instance, 5);
		run_until(&h.flushed, more + 1);
		assert_int_equal(in_trace(END), 1);
		if (more)
			fake_text(PLACE "per_cpu/cpu0/stats", "entries: 0\noverrun: 4\n");
		ftrace_data_source.stop(instance);
		run_until(&h.stopped, more + 1);
		assert_int_equal(in_trace(END), 1 + more);
		destroy_with_ring();
		unlink(fake_path(PLACE "per_cpu/cpu0/trace_pipe_raw"));
	}
}

FIXTURE_TEST(a_stop_from_inside_an_answer_reads_once_more)
{
	create_with_ring();
	h.on_answer = stop_from_inside;
	ftrace_data_source.flush(instance, 1);
	run_until(&h.flushed, 1);
	assert_int_equal(h.stopped, 0);
	put_page();
	run_until(&h.stopped, 1);
	assert_int_equal(in_trace(BUNDLE), 1);
	destroy_with_ring();
}

FIXTURE_TEST(more_flushes_than_it_remembers)
{
	create_with_ring();
	for (uint64_t i = 1; i <= 1000; i++)
		ftrace_data_source.flush(instance, i);
	while (h.last_flush != 1000)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_in_range(h.flushed, 10, 100);
	destroy_with_ring();
}

static void flush_again(struct ds_handle *handle)
{
	if (handle->flushed && handle->flushed < 50)
		ftrace_data_source.flush(instance, handle->last_flush + 1);
}

/* Each flush is answered, however many there are. */
FIXTURE_TEST(flushes_without_end)
{
	create_with_ring();
	for (unsigned i = 0; i < 3; i++)
		ftrace_data_source.flush(instance, i);
	event_base_loop(loop, EVLOOP_ONCE);
	for (unsigned i = 3; h.flushed < 10; i++) {
		ftrace_data_source.flush(instance, i);
		event_base_loop(loop, EVLOOP_ONCE);
		assert_true(i - h.last_flush < 5);
	}
	h.on_answer = flush_again;
	run_until(&h.flushed, 50);
	h.on_answer = NULL;
	ftrace_data_source.flush(instance, 1000);
	ftrace_data_source.stop(instance);
	run_until(&h.stopped, 1);
	assert_int_equal(h.last_flush, 1000);
	destroy_with_ring();
}

/*
 * ---- with symbols that take many turns: millions of lines that are none, in 0.2 s and more
 * ----
 */

static void write_slow_symbols(void)
{
	static char lines[1 << 20];
	char path[300];
	FILE *f;

	for (size_t i = 0; i < sizeof(lines); i++)
		lines[i] = i % 2 ? '\n' : '-';
	fake_text("kallsyms", "1000 T first\n");
	snprintf(path, sizeof(path), "%s/kallsyms", fake_root);
	f = fopen(path, "a");
	assert_non_null(f);
	for (unsigned i = 0; i < 32; i++)
		assert_int_equal(fwrite(lines, sizeof(lines), 1, f), 1);
	fputs("2000 T second\n", f);
	assert_int_equal(fclose(f), 0);
}

static void begin_with_slow_symbols(uint32_t stop_timeout_ms)
{
	write_slow_symbols();
	start_in_place(NULL, stop_timeout_ms);
	while (strcmp(fake_read(PLACE "tracing_on"), "1") != 0)
		assert_int_equal(event_base_loop(loop, EVLOOP_ONCE), 0);
	assert_int_equal(h.started, 0);
	put_page();
}

FIXTURE_TEST(a_stop_reads_the_rest_with_names)
{
	begin_with_slow_symbols(60000);
	h.stop_follows = true;
	ftrace_data_source.flush(instance, 5);
	assert_int_equal(h.flushed, 1);
	ftrace_data_source.stop(instance);
	assert_string_equal(fake_read(PLACE "tracing_on"), "0");
	event_base_loop(loop, EVLOOP_ONCE);
	assert_int_equal(h.started, 1);
	assert_int_equal(h.stopped, 0);
	assert_int_equal(in_trace(BUNDLE), 0);
	run_until(&h.stopped, 1);
	assert_int_equal(in_trace(BUNDLE), 1);
	assert_symbols(2, "");
	destroy_with_ring();
}

FIXTURE_TEST(a_stop_gives_symbols_up)
{
	begin_with_slow_symbols(10);
	ftrace_data_source.stop(instance);
	run_until(&h.stopped, 1);
	assert_int_equal(in_trace(BUNDLE), 1);
	assert_symbols(0, "option:symbolize_ksyms (addresses in the first records have no names");
	destroy_with_ring();
}

FIXTURE_TEST(a_flush_does_not_wait_for_symbols)
{
	begin_with_slow_symbols(60000);
	ftrace_data_source.flush(instance, 1);
	assert_int_equal(h.started, 1);
	run_until(&h.flushed, 1);
	assert_int_equal(in_trace(BUNDLE), 1);
	assert_symbols(0, "option:symbolize_ksyms (addresses in the first records have no names");
	/* A stop waits for the rest's. */
	put_page();
	ftrace_data_source.stop(instance);
	run_until(&h.stopped, 1);
	assert_int_equal(in_trace(BUNDLE), 2);
	assert_symbols(2, "option:symbolize_ksyms (addresses in the first records have no names");
	destroy_with_ring();
}

/*
 * ---- while it is being set up: the kernel's call ends when the FIFO is opened by its reader
 * ----
 */

static void block_writes(const char *file)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", fake_root, file);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void run_for_a_while(void)
{
	/* It gets there in a few turns; what a test says holds before that, too. */
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 0);
		usleep(200);
	}
	assert_int_equal(h.started, 0);
}

static void begin_to_set_up(void)
{
	block_writes("uprobe_events");
	start_in_place((char *)"p:mine/read /bin/true:0x10", 0);
	run_for_a_while();
}

static int fifo;

/* From then on it is a plain file. Gives what keeps the FIFO open. */
static int let_the_write_end(const char *file)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", fake_root, file);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	fake_text("plain", "");
	assert_int_equal(rename(fake_path("plain"), path), 0);
	return fd;
}

static int let_the_kernel_end(void)
{
	return let_the_write_end("uprobe_events");
}

FIXTURE_TEST(others_go_on_while_the_kernel_sets_up)
{
	const struct ds_env env = {.loop = loop, .sys_root = "/nowhere", .proc_root = "/nowhere"};
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	struct ds_handle other = {.session_id = 10};
	void *other_instance;
	int fd;

	begin_to_set_up();
	assert_int_equal(ftrace_data_source.create(&other, &env, &config, &other_instance), 0);
	ftrace_data_source.start(other_instance);
	ftrace_data_source.flush(other_instance, 1);
	ftrace_data_source.stop(other_instance);
	run_until(&other.stopped, 1);
	assert_int_equal(other.started, 1);
	assert_int_equal(other.flushed, 1);
	ftrace_data_source.destroy(other_instance);

	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 0);
	assert_int_equal(h.started, 0);
	fd = let_the_kernel_end();
	run_until(&h.started, 1);
	assert_string_equal(fake_read(PLACE "tracing_on"), "1");
	destroy_with_ring();
	close(fd);
}

FIXTURE_TEST(a_flush_while_it_is_set_up)
{
	int fd;

	begin_to_set_up();
	ftrace_data_source.flush(instance, 7);
	assert_int_equal(h.last_flush, 7); /* there is nothing yet */
	fd = let_the_kernel_end();
	run_until(&h.started, 1);
	put_page();
	ftrace_data_source.flush(instance, 8);
	run_until(&h.flushed, 2);
	assert_int_equal(in_trace(BUNDLE), 1);
	destroy_with_ring();
	close(fd);
}

FIXTURE_TEST(a_stop_while_it_is_set_up)
{
	int fd;

	begin_to_set_up();
	ftrace_data_source.stop(instance);
	ftrace_data_source.stop(instance);
	assert_int_equal(h.stopped, 0);
	fd = let_the_kernel_end();
	run_until(&h.stopped, 1);
	assert_int_equal(h.started, 1);
	assert_int_equal(in_trace(END), 1);
	assert_int_equal(in_trace(PROBLEM), 0);
	assert_string_equal(fake_read(PLACE "tracing_on"), "0");
	destroy_with_ring();
	close(fd);
}

static void on_late(evutil_socket_t fd, short what, void *ctx)
{
	fifo = let_the_kernel_end();
}

/* What was made goes again, and the rest is not begun. */
FIXTURE_TEST(a_stop_while_it_is_set_up_for_long)
{
	struct event *late = evtimer_new(loop, on_late, NULL);
	const struct timeval patience = {.tv_sec = 3, .tv_usec = 100000};
	begin_to_set_up();
	ftrace_data_source.stop(instance);
	event_add(late, &patience);
	run_until(&h.stopped, 1);
	assert_int_equal(h.started, 1);
	assert_int_equal(in_trace(END), 1);
	assert_int_equal(in_trace(PROBLEM), 2); /* at the start and at the end */
	assert_non_null(strstr(fake_read("uprobe_events"), "-:sonda_"));
	assert_string_equal(fake_read(PLACE "tracing_on"), "0\n");
	assert_string_equal(fake_read(PLACE EVENT "enable"), "0\n");
	event_free(late);
	destroy_with_ring();
	close(fifo);
}

/* The kernel waits for those that make or remove an instance. */
FIXTURE_TEST(others_go_on_while_recording_is_switched_on)
{
	int fd;

	place_records = true;
	create_in_place(NULL, 0);
	place_records = false;
	assert_string_equal(fake_read(PLACE "tracing_on"), "0");
	block_writes(PLACE "tracing_on");
	ftrace_data_source.start(instance);
	run_for_a_while();
	ftrace_data_source.flush(instance, 7);
	assert_int_equal(h.last_flush, 7); /* there is nothing yet */
	ftrace_data_source.stop(instance);
	assert_int_equal(h.stopped, 0);
	fd = let_the_write_end(PLACE "tracing_on");
	run_until(&h.stopped, 1);
	assert_int_equal(h.started, 1);
	assert_int_equal(in_trace(END), 1);
	destroy_with_ring();
	close(fd);
}

FIXTURE_TEST(destroyed_while_it_is_set_up)
{
	int fd;

	begin_to_set_up();
	ftrace_data_source.stop(instance);
	fd = let_the_kernel_end();
	destroy_with_ring();
	assert_int_equal(h.started + h.stopped, 0);
	assert_int_equal(event_base_loop(loop, EVLOOP_NONBLOCK), 1);
	assert_string_equal(fake_read(PLACE "tracing_on"), "0\n");
	close(fd);
}

FIXTURE_TEST(it_knows_its_own_fields)
{
	struct pb_mem m;

	assert_string_equal(ftrace_data_source.name, "linux.ftrace");
	assert_int_equal(pb_mem_init(&m), 0);
	ftrace_data_source.describe(&m.enc);
	assert_message("DataSourceDescriptor", m.buf, pb_mem_len(&m),
		       "ftrace_descriptor { knows_own_fields: 1 }");
	pb_mem_deinit(&m);
}
