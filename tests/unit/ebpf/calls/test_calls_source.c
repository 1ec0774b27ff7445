/* SPDX-License-Identifier: Apache-2.0 */
/* linux.syscalls without a kernel: records of the BPF programs in, packets out. */
#include <event2/event.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "base/system/syscall_names.h"
#include "ebpf/calls/calls_session.h"
#include "ebpf/calls/calls_source.h"
#include "unit/fixture.h"
#include "unit/procfs/source_rig.h"

static bool has_lost; /* packets of the sequence were dropped */

bool writer_has_lost(const struct writer *w)
{
	return has_lost;
}

/* ---- the programs ---- */

static struct {
	bool runs;
	int new_error, wakeup;
	char *bytes; /* records, each behind its size */
	size_t n, cap, at;
	struct call_record open[2]; /* calls that have not ended */
	size_t n_open, n_consumed;
	unsigned n_measured;
	struct calls_counts counts;
} programs;

int calls_program_new(const struct calls_config *c, const char *tracefs_root,
		      struct calls_program **ret, struct err_text *e)
{
	if (programs.new_error)
		return err_set(e, programs.new_error, "no permission");
	programs.runs = true;
	programs.wakeup = eventfd(0, EFD_CLOEXEC);
	*ret = (struct calls_program *)&programs;
	return 0;
}

void calls_program_free(struct calls_program *p)
{
	if (!p)
		return;
	programs.runs = false;
	close(programs.wakeup);
}

int calls_program_wakeup_fd(const struct calls_program *p)
{
	return programs.wakeup;
}

const void *calls_program_peek(struct calls_program *p, uint32_t *ret_size)
{
	if (programs.at == programs.n)
		return NULL;
	memcpy(ret_size, programs.bytes + programs.at, sizeof(*ret_size));
	return programs.bytes + programs.at + sizeof(*ret_size);
}

void calls_program_consume(struct calls_program *p)
{
	uint32_t size;

	assert_non_null(calls_program_peek(p, &size));
	programs.at += sizeof(size) + size;
	programs.n_consumed++;
}

void calls_program_each_open_call(struct calls_program *p,
				  void (*fn)(void *ctx, const struct call_record *r), void *ctx)
{
	for (size_t i = 0; i < programs.n_open; i++)
		fn(ctx, &programs.open[i]);
}

void calls_program_measure_cost(struct calls_program *p)
{
	programs.n_measured++;
}

void calls_program_read_counts(struct calls_program *p, struct calls_counts *ret)
{
	*ret = programs.counts;
}

static void give(const void *record, uint32_t size)
{
	assert_int_equal(
		array_reserve(&programs.bytes, &programs.cap, programs.n + sizeof(size) + size, 1),
		0);
	memcpy(programs.bytes + programs.n, &size, sizeof(size));
	memcpy(programs.bytes + programs.n + sizeof(size), record, size);
	programs.n += sizeof(size) + size;
}

/* ---- records ---- */

struct piece {
	uint8_t arg, memory, is_cut;
	const char *bytes;
	uint32_t len;
};

#define TEXT(arg, memory, text)                                                                    \
	{                                                                                          \
		arg, memory, 0, text, sizeof(text) - 1                                             \
	}

/* Gives a head or a record of head_size bytes, and the pieces. */
static void give_pieces(void *record, size_t head_size, const struct piece *pieces, size_t n)
{
	static char bytes[CALLS_PIECES + sizeof(struct call_record)];
	struct call_head *head = record;
	size_t len = head_size;

	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < n; i++) {
		const struct call_piece p = {.arg = pieces[i].arg,
					     .memory = pieces[i].memory,
					     .is_cut = pieces[i].is_cut,
					     .len = pieces[i].len};

		memcpy(bytes + len, &p, sizeof(p));
		memcpy(bytes + len + sizeof(p), pieces[i].bytes, p.len);
		len += sizeof(p) + (p.len + 7) / 8 * 8;
	}
	head->n_bytes = (uint16_t)(len - head_size);
	memcpy(bytes, record, head_size);
	give(bytes, (uint32_t)len);
}

static struct call_record call_of(int number, int64_t result)
{
	return (struct call_record){
		.head = {.type = CALL_ENDED, .tid = 43, .tgid = 42, .sequence = 1},
		.number = number,
		.since = 1000,
		.until = 3000,
		.result = result,
		.args = {(uint64_t)-100, 0x1000, 0, 0, 0, 0},
		.comm = "a\nb"};
}

static void give_begin(const struct call_record *r, const struct piece *pieces, size_t n)
{
	struct call_head head = r->head;

	head.type = CALL_BEGUN;
	give_pieces(&head, sizeof(head), pieces, n);
}

static void give_end(struct call_record r, const struct piece *pieces, size_t n)
{
	give_pieces(&r, sizeof(r), pieces, n);
}

/* ---- the session ---- */

static int32_t published[16];
static size_t n_published;
static char executed[64];

static void on_metadata(void *ctx, const struct metadata_batch *batch)
{
	for (size_t i = 0; i < batch->n_tids; i++)
		published[n_published++ % ARRAY_SIZE(published)] = batch->tids[i];
	for (size_t i = 0; i < batch->n_tasks; i++)
		snprintf(executed, sizeof(executed), "%d %.*s", batch->tasks[i].tid,
			 (int)batch->tasks[i].file_len, batch->tasks[i].file);
}

static void start(const Pb__SyscallsConfig *m)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;

	config.syscalls_config = (Pb__SyscallsConfig *)m;
	source_start(&syscalls_data_source, config);
}

SETUP
{
	fake_reset();
	n_published = 0;
	executed[0] = '\0';
	env = (struct ds_env){.loop = event_base_new(),
			      .proc_root = "/nowhere",
			      .sys_root = "/nowhere",
			      .bus = metadata_bus_new()};
	assert_int_equal(metadata_bus_subscribe(env.bus, FAKE_SESSION, on_metadata, &env), 0);
}

TEARDOWN
{
	source_end(&syscalls_data_source);
	assert_false(programs.runs);
	free(programs.bytes);
	memset(&programs, 0, sizeof(programs));
	has_lost = false;
	metadata_bus_unsubscribe(env.bus, FAKE_SESSION, &env);
	metadata_bus_free(env.bus);
}

static const char *flush(void)
{
	fake_reset_packets();
	return source_flush(&syscalls_data_source, NULL);
}

static const char *stop(void)
{
	fake_reset_packets();
	return source_stop(&syscalls_data_source, NULL);
}

/* ---- calls ---- */

FIXTURE_TEST(a_call_is_a_slice_with_what_its_arguments_point_to)
{
	static const struct piece path[] = {TEXT(1, CALL_STRING, "/etc/a\"b")};
	struct call_record r = call_of(SYS_openat, 3);
	const char *text;

	start(NULL);
	r.inode = 77;
	r.dev = 8 << 20 | 1;
	r.args[2] = O_CLOEXEC;
	give_begin(&r, path, 1);
	give_end(r, NULL, 0);
	text = flush();
	assert_has(text, "debug_annotation_names { iid: 1 str: 'arg0' }");
	assert_has(text, "thread { pid: 42 tid: 43 thread_name: 'a?b' }");
	assert_has(text, "name: 'syscalls' sibling_merge_behavior: 2");
	assert_has(text, "name: 'sys_openat'");
	assert_has(text, "debug_annotations { name_iid: 1 int_value: -100 } "
			 "debug_annotations { name_iid: 2 string_value: '/etc/a\\\\\"b' } "
			 "debug_annotations { name_iid: 3 uint_value: 524288 } "
			 "debug_annotations { name_iid: 4 uint_value: 0 } "
			 "debug_annotations { name_iid: 7 int_value: 3 } "
			 "debug_annotations { name_iid: 10 uint_value: 77 } "
			 "debug_annotations { name_iid: 11 uint_value: 2049 } }");
	assert_has(text, "timestamp: 3000 sequence_flags: 2 track_event { type: 2 ");
	/* What was written once is not written again. */
	give_end(r, NULL, 0);
	text = flush();
	assert_has_not(text, "track_descriptor");
	assert_has_not(text, "sys_openat");
	assert_has(text, "debug_annotations { name_iid: 2 uint_value: 4096 }"); /* no piece */
	memcpy(r.comm, "new", 4);
	give_end(r, NULL, 0);
	assert_has(flush(), "thread_name: 'new'");
	assert_has(stop(), "syscalls_stats { calls: 3 }");
}

FIXTURE_TEST(arguments_are_text_by_what_they_point_to)
{
	static const struct sockaddr_un abstract = {AF_UNIX, "\0name"};
	static const struct timespec half = {1, 500000000};
	static const int fds[2] = {3, 4};
	static const struct {
		int number;
		struct piece begin[3], end[1];
		const char *text;
	} cases[] = {
		{SYS_execve,
		 {TEXT(1, CALL_STRINGS, "sh"),
		  TEXT(1, CALL_STRINGS, "-c"),
		  {1, CALL_STRINGS, 1, "long", 4}},
		 {{0}},
		 "name_iid: 2 string_value: '[\"sh\", \"-c\", \"long\"...]' }"},
		{SYS_execve,
		 {TEXT(0, CALL_STRING, "/bin/sh"),
		  TEXT(1, CALL_STRINGS, "sh"),
		  {1, CALL_STRINGS, 1, "", 0}},
		 {{0}},
		 "name_iid: 1 string_value: '/bin/sh' } debug_annotations { "
		 "name_iid: 2 string_value: '[\"sh\", ...]' }"},
		{SYS_execve,
		 {{0, CALL_STRING, 1, "/bi", 3}},
		 {{0}},
		 "name_iid: 1 string_value: '/bi' } debug_annotations { name_iid: 9 int_value: 0 "
		 "}"},
		{SYS_getcwd,
		 {{0}},
		 {TEXT(0, CALL_TEXT_OUT, "/home\0x")},
		 "name_iid: 1 string_value: '/home' }"},
		{SYS_readlinkat,
		 {TEXT(1, CALL_STRING, "l")},
		 {TEXT(2, CALL_TEXT_OUT, "target")},
		 "name_iid: 2 string_value: 'l' } debug_annotations { "
		 "name_iid: 3 string_value: 'target' }"},
		{SYS_connect,
		 {{1, CALL_SOCKADDR, 0, (const char *)&abstract, 7}},
		 {{0}},
		 "name_iid: 2 string_value: '{sa_family=AF_UNIX, sun_path=@\"name\"}' }"},
		{SYS_connect,
		 {TEXT(1, CALL_SOCKADDR, "x")},
		 {{0}},
		 "name_iid: 2 uint_value: 4096 }"},
		{SYS_nanosleep,
		 {{0, CALL_TIMESPEC, 0, (const char *)&half, sizeof(half)}},
		 {{0}},
		 "name_iid: 1 string_value: '{tv_sec=1, tv_nsec=500000000}' }"},
		{SYS_pipe2,
		 {{0}},
		 {{0, CALL_FDS_OUT, 0, (const char *)fds, sizeof(fds)}},
		 "name_iid: 1 string_value: '[3, 4]' }"},
		/* Of an argument that the call does not have, or without bytes of its kind. */
		{SYS_read, {TEXT(9, CALL_STRING, "x")}, {{0}}, "name_iid: 1 int_value: -100 }"},
		{SYS_openat, {TEXT(1, 99, "x")}, {{0}}, "name_iid: 2 uint_value: 4096 }"},
	};

	start(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call_record r = call_of(cases[i].number, 0);
		size_t n = 0;
		const char *text;

		while (n < 3 && cases[i].begin[n].memory)
			n++;
		r.head.sequence = (uint32_t)i;
		if (n)
			give_begin(&r, cases[i].begin, n);
		give_end(r, cases[i].end, cases[i].end[0].memory != 0);
		text = flush();
		if (!strstr(text, cases[i].text))
			fail_msg("case %zu: no %s in %s", i, cases[i].text, text);
	}
}

FIXTURE_TEST(calls_that_have_no_end_no_name_or_other_numbers)
{
	static const struct {
		int number;
		uint32_t flags;
		const char *has, *has_not;
	} cases[] = {
		{SYS_exit_group, CALL_NEVER_RETURNED, "type: 2", "name_iid: 7 "},
		{SYS_read, CALL_STILL_RUNS, "name: 'sys_read'", "type: 2"},
		{600, 0,
		 "name: 'sys_600' debug_annotations { name_iid: 1 uint_value: "
		 "18446744073709551516 } ",
		 "event_names"},
		{-1, 0, "name: 'sys_-1'", "event_names"},
		{-2, CALL_IS_COMPAT, "name: 'sys_mincore'", "name_iid: 9 "},
		{-2, CALL_IS_COMPAT, "debug_annotations { name_iid: 8 bool_value: 1 }",
		 "sys_mincore"},
	};

	start(NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct call_record r = call_of(cases[i].number, 7);
		const char *text;

		if (r.number == -2)
			r.number = syscall_number("mincore", true);
		r.flags = cases[i].flags;
		give_end(r, NULL, 0);
		text = flush();
		if (!strstr(text, cases[i].has) || strstr(text, cases[i].has_not))
			fail_msg("case %zu: %s", i, text);
	}
}

/* The programs are this project's, but a record that they wrote wrongly must do no harm. */
FIXTURE_TEST(malformed_records_and_pieces_are_counted_or_left_out)
{
	static const struct piece path[] = {TEXT(1, CALL_STRING, "/a")};
	struct call_record r = call_of(SYS_openat, 3);
	struct {
		struct call_record r;
		struct call_piece p;
		char bytes[8];
	} cut = {.r = r, .p = {.arg = 1, .memory = CALL_STRING, .len = 9}};
	struct call_head head = r.head;

	start(NULL);
	give(&head, sizeof(head) - 1); /* not even a head: nothing is known */
	head.type = 99;
	give(&head, sizeof(head));
	give(&r, sizeof(r) - 1);
	r.head.n_bytes = 1;
	give(&r, sizeof(r));
	assert_has_not(flush(), "track_event {");
	/* A piece that reaches beyond the record, and one without a whole head. */
	cut.r.head.n_bytes = 16;
	give(&cut, sizeof(cut));
	assert_has(flush(), "name_iid: 2 uint_value: 4096 }");
	cut.r.head.n_bytes = 7;
	give(&cut, sizeof(cut.r) + 7);
	assert_has(flush(), "name_iid: 2 uint_value: 4096 }");
	/* The beginning of another call of the thread. */
	r.head.n_bytes = 0;
	give_begin(&r, path, 1);
	r.head.sequence++;
	give_end(r, NULL, 0);
	assert_has(flush(), "name_iid: 2 uint_value: 4096 }");
	assert_has(stop(), "syscalls_stats { calls: 3 texts_lost: 3 }");
}

FIXTURE_TEST(threads_have_a_limit_at_which_their_texts_are_lost)
{
	static const struct piece path[] = {TEXT(1, CALL_STRING, "/a")};
	struct call_record r = call_of(SYS_openat, 3);

	start(NULL);
	for (uint32_t i = 0; i <= CALLS_THREADS_MAX; i++) {
		r.head.tid = 100 + i;
		give_begin(&r, path, 1);
	}
	give_end(r, NULL, 0); /* the last one is known */
	assert_has(flush(), "string_value: '/a'");
	r.head.tid = 100;
	give_end(r, NULL, 0);
	assert_has(flush(), "name_iid: 2 uint_value: 4096 }");
	assert_has(stop(), "syscalls_stats { calls: 2 texts_lost: 65536 }");
}

FIXTURE_TEST(after_a_loss_and_a_clear_the_state_is_written_again)
{
	start(NULL);
	for (int i = 0; i < 4; i++) {
		const char *text;

		give_end(call_of(SYS_read, 0), NULL, 0);
		has_lost = i == 2;
		if (i == 3)
			syscalls_data_source.clear(instance);
		text = flush();
		assert_int_equal(strstr(text, "sequence_flags: 1 ") != NULL, i != 1);
		assert_int_equal(strstr(text, "thread { pid: 42") != NULL, i != 1);
		assert_int_equal(strstr(text, "name: 'sys_read'") != NULL, i != 1);
	}
}

FIXTURE_TEST(threads_and_executed_programs_are_published)
{
	static const struct piece path[] = {TEXT(0, CALL_STRING, "/bin/sh")};
	struct call_record r = call_of(SYS_execve, 0);

	start(NULL);
	for (int i = 0; i < 3; i++) {
		r.head.tid = 50 - (uint32_t)i / 2;
		r.comm[0] = (char)('a' + i);
		give_end(r, NULL, 0);
	}
	flush();
	assert_int_equal(n_published, 2); /* each once, in order */
	assert_true(published[0] == 49 && published[1] == 50);
	assert_string_equal(executed, "42 "); /* whose path was not read */
	executed[0] = '\0';
	/* Neither one that failed, nor one that is still on its way, nor another call. */
	r.result = -2;
	give_end(r, path, 1);
	r.result = 0;
	r.flags = CALL_STILL_RUNS;
	give_end(r, path, 1);
	r = call_of(SYS_openat, 0);
	give_end(r, path, 1);
	flush();
	assert_string_equal(executed, "");
	r = call_of(SYS_execve, 0);
	give_begin(&r, path, 1);
	give_end(r, NULL, 0);
	flush();
	assert_string_equal(executed, "42 /bin/sh");
}

/* ---- reading, losses, refusals ---- */

/* A turn of the loop is short; a flush is answered when the ring is empty. */
FIXTURE_TEST(a_flush_waits_for_all_records)
{
	start(NULL);
	for (int i = 0; i < 5000; i++)
		give_end(call_of(SYS_read, 0), NULL, 0);
	syscalls_data_source.flush(instance, 1);
	assert_int_equal(fake.flushed, 0);
	assert_in_range(programs.n_consumed, 1, 4999);
	flush();
	assert_int_equal(programs.n_consumed, 5000);
	assert_int_equal(fake.flushed, 2);
	assert_true(programs.n_measured > 0);
	for (int i = 0; i < 5000; i++)
		give_end(call_of(SYS_read, 0), NULL, 0);
	stop();
	assert_int_equal(programs.n_consumed, 10000);
}

FIXTURE_TEST(the_ring_wakes_the_reader)
{
	start(NULL);
	give_end(call_of(SYS_read, 0), NULL, 0);
	assert_int_equal(eventfd_write(programs.wakeup, 1), 0);
	while (!programs.n_consumed)
		event_base_loop(env.loop, EVLOOP_ONCE);
}

FIXTURE_TEST(the_stop_writes_open_calls_losses_and_the_cost)
{
	start(NULL);
	programs.open[0] = call_of(SYS_read, 0);
	programs.open[0].flags = CALL_STILL_RUNS;
	programs.n_open = 1;
	programs.counts = (struct calls_counts){.lost = {.ring_full = 1,
							 .no_slot = 2,
							 .texts_lost = 3,
							 .texts_absent = 4,
							 .children_lost = 5},
						.run_ns = 500,
						.runs = 5,
						.measured_ns = 1000000};
	assert_has(stop(), "syscalls_stats { calls: 1 ring_full: 1 no_begin: 2 texts_lost: 3 "
			   "texts_absent: 4 children_lost: 5 machine_ppm: 500 run_ns: 100 }");
	assert_has(packets_of(0), "name: 'sys_read'");
}

FIXTURE_TEST(the_trace_says_why_there_are_no_calls)
{
	char name[] = "nosuchcall", *names[] = {name};
	Pb__SyscallsConfig m = PB__SYSCALLS_CONFIG__INIT;

	programs.new_error = -EPERM;
	start(NULL);
	flush();
	assert_has(stop(), "syscalls_stats { error: 'no permission' }");
	syscalls_data_source.destroy(instance);
	fake_reset();
	programs.new_error = 0;
	m.n_calls = 1;
	m.calls = names;
	start(&m);
	assert_false(programs.runs);
	assert_has(stop(), "there is no system call \\'nosuchcall\\'");
}
