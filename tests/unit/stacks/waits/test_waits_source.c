/* SPDX-License-Identifier: Apache-2.0 */
/* linux.waits without a kernel: records and totals of the BPF programs in, packets out. */
#include <event2/event.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "base/system/syscall_names.h"
#include "stacks/waits/waits_session.h"
#include "stacks/waits/waits_source.h"
#include "unit/ftrace/fake_tracefs.h"
#include "unit/procfs/source_rig.h"
#include "unit/stacks/fake_ring.h"

#define PID 42
#define KERNEL 0xffffffff81000000ull

int cpu_ring_open(struct cpu_ring *r, struct perf_event_attr *attr, unsigned cpu, uint32_t *pages)
{
	*r = fake_ring_new(cpu);
	r->fd = eventfd(0, EFD_CLOEXEC);
	return 0;
}

int unwind_tables_join(struct unwind_tables_user *u, struct event_base *loop)
{
	return -ENOTSUP;
}

static bool has_lost; /* packets of the sequence were dropped */

bool writer_has_lost(const struct writer *w)
{
	return has_lost;
}

static bool precedes_stop;

bool ds_flush_precedes_stop(const struct ds_handle *h)
{
	return precedes_stop;
}

/* ---- the programs ---- */

struct total {
	struct waker_key key;
	struct wait_sum sum;
};

static struct {
	bool runs, is_costly;
	int new_error;
	unsigned n_forgotten, n_late;
	int wakeup;
	struct waits_queue given; /* to the next read */
	struct total totals[WAITS_TABLES][64];
	size_t n_totals[WAITS_TABLES];
	struct waits_counts counts;
	struct waits_config config; /* borrowed parts are not valid */
} programs;

int waits_program_new(const struct waits_config *c, const uint32_t own[static WAITS_OWN_MAX],
		      const struct unwind_maps *tables, const char *tracefs_root,
		      struct waits_program **ret, struct err_text *e)
{
	if (programs.new_error)
		return err_set(e, programs.new_error, "no permission");
	programs.config = *c;
	programs.runs = true;
	programs.wakeup = eventfd(0, EFD_CLOEXEC);
	*ret = (struct waits_program *)&programs;
	return 0;
}

void waits_program_free(struct waits_program *p)
{
	if (!p)
		return;
	programs.runs = false;
	close(programs.wakeup);
}

int waits_program_wakeup_fd(const struct waits_program *p)
{
	return programs.wakeup;
}

static void append(struct waits_queue *q, const void *bytes, uint64_t size)
{
	size_t padded = (size + 7) / 8 * 8;

	assert_int_equal(array_reserve(&q->bytes, &q->cap, q->n + sizeof(size) + padded, 1), 0);
	memcpy(q->bytes + q->n, &size, sizeof(size));
	memcpy(q->bytes + q->n + sizeof(size), bytes, size);
	q->n += sizeof(size) + padded;
}

void waits_program_read_records(struct waits_program *p, struct waits_queue *q)
{
	if (!programs.given.n)
		return;
	assert_int_equal(array_reserve(&q->bytes, &q->cap, q->n + programs.given.n, 1), 0);
	memcpy(q->bytes + q->n, programs.given.bytes, programs.given.n);
	q->n += programs.given.n;
	programs.given.n = 0;
}

void waits_program_end_waits(struct waits_program *p, struct waits_queue *q)
{
	waits_program_read_records(p, q);
}

void waits_program_clear_sent_stacks(struct waits_program *p)
{
	programs.n_forgotten++;
}

int waits_program_flush_totals(struct waits_program *p)
{
	return 0;
}

int waits_program_each_total(struct waits_program *p, unsigned table,
			     void (*fn)(void *ctx, const void *key, const void *sum), void *ctx)
{
	for (size_t i = 0; i < programs.n_totals[table]; i++)
		fn(ctx, &programs.totals[table][i].key, &programs.totals[table][i].sum);
	return 0;
}

static struct total *total_of(unsigned table, const struct waker_key *key)
{
	for (size_t i = 0; i < programs.n_totals[table]; i++)
		if (!memcmp(&programs.totals[table][i].key, key, sizeof(*key)))
			return &programs.totals[table][i];
	return NULL;
}

int waits_program_remove_total(struct waits_program *p, unsigned table, const void *key,
			       struct wait_sum *ret)
{
	struct total *t = total_of(table, key);

	assert_non_null(t);
	t->sum.waits += programs.n_late; /* since it was read */
	t->sum.ns += 10 * programs.n_late;
	programs.n_late = 0;
	*ret = t->sum;
	*t = programs.totals[table][--programs.n_totals[table]];
	return 0;
}

bool waits_program_check_cost(struct waits_program *p)
{
	return !programs.is_costly;
}

void waits_program_read_counts(struct waits_program *p, struct waits_counts *ret)
{
	*ret = programs.counts;
}

/* A table of four totals is full. */
uint32_t waits_program_table_max(unsigned table)
{
	return 4;
}

/* ---- the file reader ---- */

static struct file_reader_user *user;
static struct request {
	uint32_t kind, file, n;
	uint64_t id, addresses[FILE_NAMES_MAX];
} requests[256];
static size_t n_requests;

int file_reader_join(struct file_reader_user *u, struct event_base *loop)
{
	user = u;
	return 0;
}

void file_reader_leave(struct file_reader_user *u)
{
	user = NULL;
}

bool file_reader_is_alive(void)
{
	return true;
}

static bool note_request(struct request r, const uint64_t *addresses)
{
	assert_true(n_requests < ARRAY_SIZE(requests));
	if (r.n)
		memcpy(r.addresses, addresses, r.n * sizeof(*addresses));
	requests[n_requests++] = r;
	return true;
}

bool file_reader_request_maps(const struct file_reader_user *u, int32_t pid, int32_t tid)
{
	return note_request((struct request){.kind = FILE_REQUEST_MAPS, .id = (uint32_t)pid}, NULL);
}

bool file_reader_request_elf(const struct file_reader_user *u, uint64_t id, int32_t pid,
			     const struct file_mapping *m, const char *path)
{
	return note_request((struct request){.kind = FILE_REQUEST_ELF,
					     .id = id,
					     .file = strstr(path, "libc") != NULL},
			    NULL);
}

bool file_reader_request_names(const struct file_reader_user *u, uint64_t id, uint32_t file,
			       const uint64_t *addresses, uint32_t n)
{
	return note_request(
		(struct request){.kind = FILE_REQUEST_NAMES, .id = id, .file = file, .n = n},
		addresses);
}

bool file_reader_request_data_maps(const struct file_reader_user *u, int32_t pid, int32_t tid,
				   const uint64_t *addresses, uint32_t n)
{
	return note_request(
		(struct request){.kind = FILE_REQUEST_DATA_MAPS, .id = (uint32_t)pid, .n = n},
		addresses);
}

/* The process: a program and glibc. */
static const struct {
	struct file_mapping m;
	const char *path;
} mappings[] = {
	{{.start = 0x400000, .end = 0x402000, .inode = 7, .path_len = 4}, "/app"},
	{{.start = 0x500000, .end = 0x502000, .inode = 8, .path_len = 14}, "/lib/libc.so.6"},
	{{.start = 0x403000, .end = 0x404000, .offset = 0x3000, .inode = 7, .path_len = 4}, "/app"},
};

static const struct {
	uint32_t file; /* as in requests */
	uint64_t address;
	const char *name;
} names[] = {{0, 0x1010, "main"}, {1, 0x1020, "pthread_mutex_lock"}, {0, 0x3040, "queue_lock"}};

static void answer_names(const struct request *r, struct file_answer *a)
{
	for (uint32_t i = 0; i < r->n; i++) {
		uint16_t len = 0;
		const char *name = "";

		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (names[k].file == r->file && names[k].address == r->addresses[i])
				name = names[k].name;
		len = (uint16_t)strlen(name);
		memcpy(a->body + a->n_bytes, &len, sizeof(len));
		memcpy(a->body + a->n_bytes + sizeof(len), name, len);
		a->n_bytes += (uint32_t)sizeof(len) + len;
		a->n++;
	}
}

static void put_record(struct file_answer *a, const void *record, size_t size, const char *path)
{
	memcpy(a->body + a->n_bytes, record, size);
	memcpy(a->body + a->n_bytes + size, path, strlen(path));
	a->n_bytes += (uint32_t)(size + (strlen(path) + 7) / 8 * 8);
	a->n++;
}

static void answer_request(const struct request *r)
{
	static struct file_answer a;
	struct file_data_mapping d = {.m = mappings[2].m};

	a = (struct file_answer){.kind = r->kind, .id = r->id};
	if (r->kind == FILE_REQUEST_MAPS) {
		put_record(&a, &mappings[0].m, sizeof(d.m), mappings[0].path);
		put_record(&a, &mappings[1].m, sizeof(d.m), mappings[1].path);
	} else if (r->kind == FILE_REQUEST_DATA_MAPS) {
		put_record(&a, &d, sizeof(d), mappings[2].path);
	} else if (r->kind == FILE_REQUEST_NAMES) {
		answer_names(r, &a);
	} else {
		a.file = r->file;
		a.elf = (struct elf_facts){.n_segments = 1,
					   .segments = {{0, 0x2000, 0}},
					   .n_data = 1,
					   .data = {{0x3000, 0x1000, 0x3000}}};
	}
	user->answered(user->ctx, &a);
}

/* ---- the session ---- */

SETUP
{
	static const char kallsyms[] = "ffffffff81001000 T schedule\n"
				       "ffffffff81002000 T futex_wait_queue\n"
				       "ffffffff81003000 T pipe_read\n"
				       "ffffffff81004000 T wake_up_q\n"
				       "ffffffff81005000 T __traceiter_sched_waking\n"
				       "ffffffff81006000 T end_of_test\n";

	fake_reset();
	fake_root_new();
	fake_text("kallsyms", kallsyms);
	fake_text("modules", "");
	env = (struct ds_env){.loop = event_base_new(),
			      .proc_root = fake_root,
			      .sys_root = fake_root,
			      .tracefs_root = fake_root,
			      .bus = metadata_bus_new()};
	assert_non_null(env.loop);
}

TEARDOWN
{
	source_end(&waits_data_source);
	assert_false(programs.runs);
	free(programs.given.bytes);
	memset(&programs, 0, sizeof(programs));
	n_requests = 0;
	has_lost = false;
	metadata_bus_free(env.bus);
	fake_root_remove();
}

/* Answers all requests, until the loop has nothing to do at once. */
static void settle(void)
{
	do {
		size_t n = n_requests;
		static struct request all[ARRAY_SIZE(requests)];

		memcpy(all, requests, sizeof(all));
		n_requests = 0;
		for (size_t i = 0; i < n; i++)
			answer_request(&all[i]);
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
	} while (n_requests);
}

static void start(const Pb__WaitsConfig *m)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;

	config.waits_config = (Pb__WaitsConfig *)m;
	source_start(&waits_data_source, config);
	for (unsigned i = 0; i < 50; i++) /* the table of symbols is read */
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
}

static void flush(void)
{
	source_flush(&waits_data_source, settle);
}

static void stop(void)
{
	source_stop(&waits_data_source, settle);
}

/* ---- records ---- */

static void give_stack(uint64_t hash, uint32_t tgid, const uint64_t *addresses, uint32_t n)
{
	struct wait_stack r = {.type = WAIT_RECORD_STACK,
			       .n = n,
			       .hash = hash,
			       .tgid = tgid,
			       .tid = tgid,
			       .time = 50};

	memcpy(r.addresses, addresses, n * sizeof(*addresses));
	append(&programs.given, &r,
	       offsetof(struct wait_stack, addresses) + n * sizeof(*addresses));
}

/* Stacks 1: of the kernel, in futex(2); 2: of the program, in pthread_mutex_lock; 3: of a waker. */
static void give_stacks(void)
{
	static const uint64_t futex[] = {KERNEL + 0x1010, KERNEL + 0x2010},
			      user_stack[] = {0x501020, 0x401010},
			      waker[] = {KERNEL + 0x5010, KERNEL + 0x4010};

	give_stack(1, 0, futex, 2);
	give_stack(2, PID, user_stack, 2);
	give_stack(3, 0, waker, 2);
}

static struct wait_event futex_wait(void)
{
	return (struct wait_event){.type = WAIT_RECORD_EVENT,
				   .holder_tid = 44,
				   .what = {.call = SYS_futex, .state = WAIT_INTERRUPTIBLE},
				   .since = 1000,
				   .until = 3000,
				   .kernel = 1,
				   .user = 2,
				   .waker_kernel = 3,
				   .args = {0x403040},
				   .tgid = PID,
				   .tid = 43,
				   .waker_tgid = PID,
				   .waker_tid = 44,
				   .comm = "sleeper",
				   .waker_comm = "wa\nker"};
}

static void give_wait(const struct wait_event *w)
{
	append(&programs.given, w, sizeof(*w));
}

/* What a wait is before a case changes it. */
#define FUTEX_SLICE                                                                                \
	"name: 'futex' debug_annotations { name_iid: 1 int_value: 2000 } "                         \
	"debug_annotations { name_iid: 2 string_value: 'S' } "                                     \
	"debug_annotations { name_iid: 3 string_value: 'futex' } "                                 \
	"debug_annotations { name_iid: 7 int_value: 4206656 } "                                    \
	"debug_annotations { name_iid: 8 string_value: 'app:queue_lock' } "                        \
	"debug_annotations { name_iid: 9 int_value: 44 } "                                         \
	"debug_annotations { name_iid: 10 string_value: 'mutex owner' } "                          \
	"debug_annotations { name_iid: 4 string_value: 'wa?ker' } "                                \
	"debug_annotations { name_iid: 5 int_value: 44 } }"

FIXTURE_TEST(a_wait_is_a_slice_with_its_reason_its_stacks_and_who_ended_it)
{
	const struct wait_event w = futex_wait();
	const char *text;

	start(NULL);
	give_stacks();
	give_wait(&w);
	flush();
	text = packets_of(0);
	assert_has(text, "source: 'linux.waits'");
	assert_has(text, "thread { pid: 42 tid: 43 }");
	assert_has(text, "name: 'waits' sibling_merge_behavior: 2");
	for (size_t i = 0; i < 4; i++)
		assert_has(text, ((const char *const[]){"'main'", "'pthread_mutex_lock'",
							"'futex_wait_queue'", "'schedule'"})[i]);
	assert_has(text, "frame_ids: 4 frame_ids: 3 frame_ids: 2 frame_ids: 1 } } track_event { "
			 "type: 1");
	assert_has(text, FUTEX_SLICE);
	/* The stack of the waker, without the frames of the tracepoint, is at the end. */
	assert_has(text, "timestamp: 3000 sequence_flags: 2 interned_data { function_names { iid: "
			 "4 str: 'wake_up_q' } frames { iid: 5 function_name_id: 4 mapping_id: 1 "
			 "rel_pc: 0 } callstacks { iid: 2 frame_ids: 5 } } track_event { type: 2");
	assert_has_not(text, "traceiter");
	stop();
	assert_has(packets_of(0), "waits_stats { single_waits: 1 }");
}

/* The first case has all that the others lack. */
FIXTURE_TEST(what_is_not_known_of_a_wait_is_not_written)
{
	struct wait_event w[12];
	static const struct {
		const char *has, *has_not;
	} cases[ARRAY_SIZE(w)] = {
		{"string_value: 'mutex owner'", "'PI futex'"},
		{"name_iid: 10 string_value: 'PI futex'",
		 "'mutex owner'"}, /* the kernel's holder */
		{"name: 'futex'", "name_iid: 9 "}, /* no holder */
		{"name: 'futex'", "type: 2"}, /* it has not ended */
		{"name_iid: 11 bool_value: 1", "no reason"},
		{"name_iid: 4 string_value: 'interrupt' } debug_annotations { name_iid: 6",
		 "'wa?ker'"},
		{"name: 'futex'", "name_iid: 4 "}, /* no waker */
		{"name_iid: 1 int_value: 0 ", "no reason"}, /* clocks differ between CPUs */
		{"name_iid: 2 string_value: 'R'", "no reason"}, /* a state of later programs */
		{"name_iid: 3 string_value: 'call 99999'", "name_iid: 7 "},
		{"name: 'read from pipe'", "name_iid: 3 "}, /* no call: a page fault */
		{"name_iid: 3 string_value: 'mincore'", "name_iid: 7 "}, /* of the 32-bit table */
	};

	start(NULL);
	give_stacks();
	give_stack(4, 0, (const uint64_t[]){KERNEL + 0x3010}, 1);
	for (size_t i = 0; i < ARRAY_SIZE(w); i++)
		w[i] = futex_wait();
	w[1].what.flags = WAIT_HOLDER_IS_IN_FUTEX;
	w[2].user = 0;
	w[3].what.flags = WAIT_STILL_WAITS;
	w[4].what.flags = WAIT_BEGAN_BEFORE;
	w[5].what.flags = WAIT_WAKER_IS_INTERRUPT;
	w[6].waker_comm[0] = '\0';
	w[7].until = w[7].since - 1;
	w[8].what.state = 200;
	w[9].what.call = 99999;
	w[10].what.call = WAIT_NO_CALL;
	w[10].kernel = 4;
	w[11].what =
		(union wait_what){.call = syscall_number("mincore", true), .flags = WAIT_COMPAT};
	for (size_t i = 0; i < ARRAY_SIZE(w); i++) {
		const char *text;

		give_wait(&w[i]);
		fake_reset_packets();
		flush();
		text = packets_of(0);
		if (!strstr(text, cases[i].has) || strstr(text, cases[i].has_not))
			fail_msg("case %zu: %s", i, text);
	}
}

FIXTURE_TEST(stacks_that_never_came_are_counted)
{
	struct wait_event w = futex_wait();

	start(NULL);
	w.waker_kernel = w.waker_user = 77;
	give_wait(&w);
	programs.counts.lost = (struct waits_cpu){.ring_full = 5, .stack_lost = 10};
	stop();
	assert_has(packets_of(0), "name: 'futex'");
	assert_has_not(packets_of(0), "callstack_iid");
	assert_has(packets_of(0), "waits_stats { single_waits: 1 ring_full: 5 stacks_lost: 14 }");
}

/* Records of wrong sizes and kinds, and what follows them. */
FIXTURE_TEST(malformed_records_are_skipped)
{
	struct wait_event w = futex_wait();
	struct wait_stack r = {.type = WAIT_RECORD_STACK, .n = WAITS_FRAMES_MAX + 1, .hash = 1};
	const uint32_t unknown[12] = {99};

	start(NULL);
	append(&programs.given, &r, sizeof(r));
	r.n = 3;
	append(&programs.given, &r, offsetof(struct wait_stack, addresses) + 2 * sizeof(uint64_t));
	r.n = 0;
	append(&programs.given, &r, offsetof(struct wait_stack, addresses) - 8);
	append(&programs.given, unknown, sizeof(unknown));
	append(&programs.given, &w, sizeof(w) - 8);
	w.kernel = w.user = 0;
	give_wait(&w);
	stop();
	assert_has(packets_of(0), "waits_stats { single_waits: 1 stacks_lost: 1 }");
}

FIXTURE_TEST(stacks_have_a_limit_at_which_the_programs_forget_them_too)
{
	static const uint64_t address[] = {KERNEL + 0x3010};
	struct wait_event w = futex_wait();

	start(NULL);
	for (uint32_t i = 1; i <= WAITS_STACKS_MAX; i++)
		give_stack(i, 0, address, 1);
	give_stack(1, 0, address, 1); /* again */
	flush();
	assert_int_equal(programs.n_forgotten, 0);
	give_stack(WAITS_STACKS_MAX + 1, 0, address, 1);
	w.kernel = WAITS_STACKS_MAX + 1;
	give_wait(&w);
	flush();
	assert_int_equal(programs.n_forgotten, 1);
	assert_has(packets_of(0), "'pipe_read'");
	assert_int_equal(((struct waits_session *)instance)->n_stacks_lost, 2); /* 2 and 3 */
}

FIXTURE_TEST(another_program_has_other_mappings_and_objects)
{
	const struct {
		uint32_t pid, tid;
		char name[8];
	} comm = {PID, PID, "other"};
	const struct {
		uint32_t pid, tid;
		uint64_t start, length, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[8];
	} map = {.pid = PID,
		 .tid = PID,
		 .start = 0x400000,
		 .length = 0x2000,
		 .inode = 9,
		 .path = "/new"};
	static const uint64_t user_stack[] = {0x401010};
	struct wait_event w = futex_wait();
	struct waits_session *s;

	start(NULL);
	s = instance;
	give_stacks();
	give_wait(&w);
	flush();
	assert_non_null(s->base.resolver.objects.all);
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 48,
			 &comm, sizeof(comm));
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_MMAP2, 0, 49, &map, sizeof(map));
	give_stack(5, PID, user_stack, 1);
	fake_reset_packets();
	flush();
	assert_null(s->base.resolver.objects.all);
	w.user = 5;
	give_wait(&w);
	flush();
	assert_has(packets_of(0), "'/new'");
	assert_has_not(packets_of(0), "'mutex owner'");
}

FIXTURE_TEST(after_a_loss_and_a_clear_the_state_is_written_again)
{
	const struct wait_event w = futex_wait();

	start(NULL);
	give_stacks();
	for (int i = 0; i < 4; i++) {
		give_wait(&w);
		has_lost = i == 2;
		if (i == 3)
			waits_data_source.clear(instance);
		fake_reset_packets();
		flush();
		assert_int_equal(strstr(packets_of(0), "sequence_flags: 1 ") != NULL, i != 1);
		assert_int_equal(strstr(packets_of(0), "thread { pid: 42") != NULL, i != 1);
		assert_int_equal(strstr(packets_of(0), "'futex_wait_queue'") != NULL, i != 1);
	}
}

static int32_t published[16];
static size_t n_published;

static void on_metadata(void *ctx, const struct metadata_batch *batch)
{
	for (size_t i = 0; i < batch->n_tids; i++)
		published[n_published++ % ARRAY_SIZE(published)] = batch->tids[i];
}

FIXTURE_TEST(sleepers_wakers_and_holders_are_published)
{
	struct wait_event w = futex_wait();
	int subscriber;

	assert_int_equal(metadata_bus_subscribe(env.bus, FAKE_SESSION, on_metadata, &subscriber),
			 0);
	n_published = 0;
	start(NULL);
	give_stacks();
	w.waker_tid = 45;
	give_wait(&w);
	w.user = 0;
	w.holder_tid = 46; /* what is at the address of no mutex */
	give_wait(&w);
	flush();
	assert_int_equal(n_published, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(published[i], 43 + i);
	metadata_bus_unsubscribe(env.bus, FAKE_SESSION, &subscriber);
}

/* ---- totals ---- */

static struct wait_sum *give_total(unsigned table, const struct waker_key *key, uint64_t ns,
				   uint64_t waits)
{
	struct total *t = total_of(table, key);

	if (!t) {
		assert_true(programs.n_totals[table] < ARRAY_SIZE(programs.totals[table]));
		t = &programs.totals[table][programs.n_totals[table]++];
		*t = (struct total){.key = *key};
	}
	t->sum.ns += ns;
	t->sum.waits += waits;
	t->sum.last = 9000;
	return &t->sum;
}

static const struct waker_key futex_key = {
	.waits = {.kernel = 1, .user = 2, .tgid = PID, .what = {.call = SYS_futex}}};
static const struct waker_key bare_key = {.waits = {.tgid = PID, .what = {.call = SYS_read}}};
static const struct waker_key waker_key = {
	.waits = {.kernel = 3, .tgid = PID, .what = {.flags = WAIT_OF_WAKER}}, .name = "wa\nker"};

FIXTURE_TEST(totals_are_samples_of_what_has_grown)
{
	start(NULL);
	give_stacks();
	give_total(WAITS_TOTALS, &futex_key, 5000, 2);
	give_total(WAITS_TOTALS_WITHOUT_STACKS, &bare_key, 100, 1);
	flush();
	assert_has(packets_of(0), "stack_sample { task_context { pid: 42 } callstack_iid: 2 "
				  "primary_weight: 5000 follower_weights: [2] }");
	assert_has(packets_of(0), "'[futex]'");
	assert_has(packets_of(0), "primary_weight: 100 follower_weights: [1]");
	assert_has(packets_of(0), "'[no stack taken]'");
	fake_reset_packets();
	flush();
	assert_string_equal(packets_of(0), "");
	give_total(WAITS_TOTALS, &futex_key, 7, 1);
	flush();
	assert_has(packets_of(0), "timestamp: 9000 sequence_flags: 2 stack_sample { task_context { "
				  "pid: 42 } callstack_iid: 2 primary_weight: 7 follower_weights: "
				  "[1] }\n");
	/* What a stop follows is read once, by the stop. */
	fake_reset_packets();
	precedes_stop = true;
	give_total(WAITS_TOTALS, &futex_key, 3, 1);
	flush();
	assert_string_equal(packets_of(0), "");
	stop();
	assert_has(packets_of(0), "primary_weight: 3");
	precedes_stop = false;
}

/* They are on a sequence of their own, together with the waits that no waker's stack is known of. */
FIXTURE_TEST(totals_of_wakers_and_the_rest_are_all_waits)
{
	start(NULL);
	give_stacks();
	give_total(WAITS_TOTALS, &futex_key, 5000, 5);
	give_total(WAITS_TOTALS_OF_WAKERS, &waker_key, 3000, 2);
	flush();
	assert_has(packets_of(1), "source: 'linux.wakers'");
	assert_has(packets_of(1), "'[waker: wa?ker]'");
	assert_has(packets_of(1), "primary_weight: 3000 follower_weights: [2]");
	assert_has(packets_of(1), "'[no waker stack taken]'");
	assert_has(packets_of(1), "primary_weight: 2000 follower_weights: [3]");
	/* The total of a waker was read before the other: the rest is not written below 0. */
	fake_reset_packets();
	give_total(WAITS_TOTALS_OF_WAKERS, &waker_key, 400, 1);
	flush();
	assert_has(packets_of(1), "primary_weight: 400 ");
	assert_has_not(packets_of(1), "follower_weights: [0]");
	fake_reset_packets();
	give_total(WAITS_TOTALS, &futex_key, 1000, 2);
	flush();
	assert_has(packets_of(1), "primary_weight: 600 follower_weights: [1]");
}

FIXTURE_TEST(a_total_waits_for_its_stack_but_not_for_long)
{
	struct waker_key late = futex_key, never = futex_key;

	late.waits.tid = 50;
	never.waits.tid = 51;
	never.waits.kernel = 99;
	start(NULL);
	give_total(WAITS_TOTALS, &late, 1, 1);
	give_total(WAITS_TOTALS, &never, 2, 1);
	flush();
	assert_has_not(packets_of(0), "stack_sample {");
	give_stacks();
	flush();
	assert_has(packets_of(0), "pid: 42 tid: 50 } callstack_iid: 1 primary_weight: 1 ");
	flush();
	assert_has_not(packets_of(0), "tid: 51");
	flush();
	assert_has(packets_of(0), "tid: 51 }");
	give_total(WAITS_TOTALS, &never, 2, 1);
	stop(); /* nothing more comes */
	assert_has(packets_of(0), "waits_stats { stacks_lost: 2 }");
}

/* In a table that is almost full, and what has grown at the last moment is not lost. */
FIXTURE_TEST(totals_that_do_not_grow_make_room_for_others)
{
	struct waker_key keys[4];
	struct wait_sum *sums[4];

	start(NULL);
	for (uint32_t i = 0; i < 4; i++) {
		keys[i] = bare_key;
		keys[i].waits.tid = 60 + i;
		sums[i] = give_total(WAITS_TOTALS, &keys[i], 10, 1);
	}
	for (int i = 0; i < 10; i++) {
		sums[3]->waits++;
		flush();
	}
	assert_int_equal(programs.n_totals[WAITS_TOTALS], 4);
	fake_reset_packets();
	programs.n_late = 2;
	flush();
	assert_int_equal(programs.n_totals[WAITS_TOTALS], 1); /* the one that grows */
	assert_int_equal(programs.totals[WAITS_TOTALS][0].key.waits.tid, 63);
	assert_has(packets_of(0), "tid: 60 } callstack_iid: 1 primary_weight: 20 follower_weights: "
				  "[2]");
	/* A removed total begins anew. */
	fake_reset_packets();
	give_total(WAITS_TOTALS, &keys[0], 4, 1);
	flush();
	assert_has(packets_of(0), "tid: 60 }");
	assert_has(packets_of(0), "primary_weight: 4 follower_weights: [1]");
}

/* ---- config, refusals, limits ---- */

FIXTURE_TEST(what_the_config_leaves_out)
{
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;
	const struct wait_event w = futex_wait();

	m.no_totals = m.no_single_waits = true;
	start(&m);
	give_stacks();
	give_wait(&w);
	give_total(WAITS_TOTALS, &futex_key, 5000, 2);
	programs.counts.lost.left_out = 3;
	stop();
	assert_int_equal(fake.n, 1);
	assert_has(packets_of(0), "waits_stats { }");
}

FIXTURE_TEST(the_trace_says_why_there_are_no_waits)
{
	programs.new_error = -EPERM;
	start(NULL);
	stop();
	assert_has(packets_of(0), "waits_stats { error: 'no permission' }");
}

FIXTURE_TEST(a_config_that_is_refused_is_not_recorded)
{
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;

	m.n_states = 1;
	m.states = (Pb__WaitsConfig__State[]){99};
	start(&m);
	assert_false(programs.runs);
	stop();
	assert_has(packets_of(0), "waits_stats { error: 'waits_config.states: unknown state 99' }");
}

FIXTURE_TEST(programs_that_cost_too_much_are_removed_and_their_waits_kept)
{
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;
	const struct wait_event w = futex_wait();

	m.totals_period_ms = 100;
	m.max_overhead_percent = 1.5;
	start(&m);
	give_stacks();
	give_wait(&w);
	give_total(WAITS_TOTALS, &futex_key, 5000, 2);
	programs.is_costly = true;
	programs.counts = (struct waits_counts){.is_lowered = true,
						.budget = {.user_stacks = 7},
						.run_ns = 500,
						.runs = 5,
						.measured_ns = 1000000};
	while (programs.runs) {
		event_base_loop(env.loop, EVLOOP_ONCE);
		settle();
	}
	flush();
	assert_has(packets_of(0), "name: 'futex'");
	assert_has(packets_of(0), "primary_weight: 5000");
	stop();
	assert_has(packets_of(0), "max_overhead_percent (1.5 % of the machine)");
	assert_has(packets_of(0),
		   "single_waits: 1 machine_ppm: 500 run_ns: 100 waits_per_second: 0 "
		   "kernel_stacks_per_second: 0 user_stacks_per_second: 7 }");
}
