/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path from rings to packets (perf_records.c, stack_resolver.c, perf_packets.c) without a kernel, a
 * service and a file reader: the test writes the records, reads the packets, and answers itself.
 */
#include <event2/event.h>
#include <time.h>

#include "base/system/outside_reads.h"
#include "gen/fields.h"
#include "stacks/samples/perf_session.h"
#include "stacks/unwind/unwind_follow.h"
#include "unit/ftrace/fake_writer.h"
#include "unit/stacks/fake_ring.h"

#define PID 4242
#define PROGRAM 0x400000ull

/* ---- the file reader ---- */

static struct {
	bool is_busy, has_ended;
	unsigned n_maps, n_elf, n_names, n_perf_maps;
	int32_t maps_pid;
	uint32_t elf_file;
	struct {
		uint64_t id;
		uint32_t n;
	} names[16];
} asked;

bool file_reader_is_alive(void)
{
	return !asked.has_ended;
}

bool file_reader_request_maps(const struct file_reader_user *u, int32_t pid, int32_t tid)
{
	asked.n_maps += !asked.is_busy;
	asked.maps_pid = pid;
	return !asked.is_busy && !asked.has_ended;
}

bool file_reader_request_elf(const struct file_reader_user *u, uint64_t id, int32_t pid,
			     const struct file_mapping *m, const char *path)
{
	asked.n_elf += !asked.is_busy;
	asked.elf_file = (uint32_t)id;
	return !asked.is_busy && !asked.has_ended;
}

bool file_reader_request_names(const struct file_reader_user *u, uint64_t id, uint32_t file,
			       const uint64_t *addresses, uint32_t n)
{
	if (asked.is_busy || asked.has_ended)
		return false;
	assert_true(asked.n_names < ARRAY_SIZE(asked.names));
	asked.names[asked.n_names].id = id;
	asked.names[asked.n_names++].n = n;
	return true;
}

bool file_reader_request_perf_map(const struct file_reader_user *u, uint64_t id,
				  const struct file_reader_process *p)
{
	asked.n_perf_maps++;
	assert_int_equal(p->pid, PID);
	assert_int_equal(p->pid_inside, 7);
	assert_int_equal(p->uid, 33);
	return true;
}

static struct file_reader_user *user;

int file_reader_join(struct file_reader_user *u, struct event_base *loop)
{
	user = u;
	return 0;
}

void file_reader_leave(struct file_reader_user *u)
{
	user = NULL;
}

static void on_ready(void *ctx)
{
}

static void answer_maps(struct perf_session *s, int32_t pid, const char *path)
{
	static struct file_answer a;
	const struct file_mapping m = {.start = PROGRAM,
				       .end = PROGRAM + 0x100000,
				       .inode = 7,
				       .path_len = (uint32_t)strlen(path)};

	a = (struct file_answer){.kind = FILE_REQUEST_MAPS, .id = (uint32_t)pid, .n = 1};
	memcpy(a.body, &m, sizeof(m));
	memcpy(a.body + sizeof(m), path, strlen(path));
	user->answered(user->ctx, &a);
}

static void answer_elf(struct perf_session *s)
{
	static const struct file_answer a_file = {.kind = FILE_REQUEST_ELF};
	struct file_answer *a = malloc(sizeof(*a));

	*a = a_file;
	a->id = asked.elf_file;
	user->answered(user->ctx, a);
	free(a);
}

/* The first process that compiles code has n functions. */
static void answer_perf_map(uint32_t n)
{
	static struct file_answer a;

	a = (struct file_answer){.kind = FILE_REQUEST_PERF_MAP,
				 .id = 1,
				 .n = n,
				 .file = 1 << 30,
				 .result = n ? 0 : -ENOENT};
	user->answered(user->ctx, &a);
}

/* The names "f", n times. */
static void answer_names(struct perf_session *s, uint64_t id, uint32_t n)
{
	static struct file_answer a;

	a = (struct file_answer){.kind = FILE_REQUEST_NAMES, .id = id, .n = n};
	for (uint32_t i = 0; i < n; i++)
		memcpy(a.body + i * 3, "\1\0f", 3);
	user->answered(user->ctx, &a);
}

/* ---- the session ---- */

bool writer_has_lost(const struct writer *w)
{
	return false;
}

static int setup(void **state)
{
	struct perf_session *s = calloc(1, sizeof(*s));

	memset(&asked, 0, sizeof(asked));
	s->perf.message = calloc(1, sizeof(*s->perf.message));
	pb__perf_event_config__init((Pb__PerfEventConfig *)s->perf.message);
	s->perf.has_stacks = s->perf.has_user_frames = s->perf.has_kernel_frames = true;
	s->perf.clock = CLOCK_BOOTTIME;
	s->base.reads_all = true;
	s->base.rings.items = calloc(2, sizeof(*s->base.rings.items));
	for (; s->base.rings.n < 2; s->base.rings.n++)
		s->base.rings.items[s->base.rings.n] = fake_ring_new(s->base.rings.n);
	s->base.loop = event_base_new();
	s->base.resolver = (struct stack_resolver){
		.source = "linux.perf", .rings = &s->base.rings, .ready = on_ready, .ctx = s};
	assert_int_equal(stack_resolver_init(&s->base.resolver, s->base.loop, true), 0);
	assert_int_equal(stack_resolver_join(&s->base.resolver, s->base.loop, "/proc", true, false),
			 0);
	s->base.writer = fake_writer_new(4096);
	s->config = calloc(1, sizeof(*s->config));
	assert_non_null(s->config);
	pb__data_source_config__init(s->config);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct perf_session *s = *state;

	cpu_rings_deinit(&s->base.rings);
	stack_resolver_deinit(&s->base.resolver);
	event_base_free(s->base.loop);
	free(s->samples);
	free(s->follower_counts);
	free((void *)s->perf.message);
	free(s->config);
	writer_free(s->base.writer);
	free(s);
	return 0;
}

static void sample(struct perf_session *s, unsigned cpu, uint64_t time, uint64_t address)
{
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, address};

	fake_ring_sample(&s->base.rings.items[cpu], time, PID, chain, 2);
}

static void map_record(struct perf_session *s, uint64_t time, uint64_t inode, uint64_t offset)
{
	struct {
		uint32_t pid, tid;
		uint64_t start, length, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[8];
	} body = {.pid = PID,
		  .tid = PID,
		  .start = PROGRAM,
		  .length = 0x100000,
		  .offset = offset,
		  .inode = inode};

	memcpy(body.path, inode ? "/a" : "//anon", inode ? 3 : 7);
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_MMAP2, 0, time, &body, sizeof(body));
}

/* Calls fn for each field of that number, in messages within messages, in each packet. */
static void for_each(const uint8_t *data, size_t len, const uint32_t *path,
		     void (*fn)(const struct pb_field *f, void *ctx), void *ctx)
{
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != path[0])
			continue;
		if (path[1])
			for_each(f.data, f.len, path + 1, fn, ctx);
		else
			fn(&f, ctx);
	}
	assert_true(pb_dec_ok(&d));
}

struct values {
	unsigned n;
	uint64_t of[512];
};

static void add_value(const struct pb_field *f, void *ctx)
{
	struct values *v = ctx;

	assert_true(v->n < ARRAY_SIZE(v->of));
	v->of[v->n++] = f->u64;
}

#define VALUES(s, ...)                                                                             \
	({                                                                                         \
		static struct values v_;                                                           \
		v_.n = 0;                                                                          \
		for_each((s)->base.writer->begin, fake_writer_len((s)->base.writer),               \
			 (const uint32_t[]){1, __VA_ARGS__, 0}, add_value, &v_);                   \
		&v_;                                                                               \
	})

/* ---- records ---- */

TEST_STATE(samples_of_all_cpus_are_in_order_of_time, setup, teardown, struct perf_session *s)
{
	static const uint64_t times[2][3] = {{10, 30, 40}, {20, 25, 50}};
	static const uint64_t expected[] = {10, 20, 25, 30, 40, 50};

	s->base.resolver.has_user_frames = false;
	for (unsigned cpu = 0; cpu < 2; cpu++)
		for (unsigned i = 0; i < 3; i++)
			sample(s, cpu, times[cpu][i], 0);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(s->n_samples, 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(s->samples[i].time, expected[i]);
}

TEST_STATE(a_sample_waits_for_the_mappings_of_its_process, setup, teardown, struct perf_session *s)
{
	sample(s, 0, 10, PROGRAM + 16);
	assert_false(perf_records_read(&s->base));
	assert_int_equal(asked.n_maps, 1);
	assert_int_equal(asked.maps_pid, PID);
	assert_int_equal(s->n_samples, 0);
	answer_maps(s, PID + 1, "/other"); /* not what was asked */
	assert_int_equal(s->base.resolver.outstanding, 1);
	answer_maps(s, PID, "/a");
	assert_int_equal(s->base.resolver.outstanding, 0);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(s->n_samples, 1);
	assert_int_equal(s->samples[0].unwind_error, 0);
	assert_int_equal(asked.n_maps, 1);
}

TEST_STATE(stacks_by_frame_pointers_say_so_if_the_config_asks_for_others, setup, teardown,
	   struct perf_session *s)
{
	const uint64_t of_kernel[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000000};

	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 5, 7, 0);
	err_set(&s->by_frame_pointers, 0, "no permission");
	sample(s, 0, 10, PROGRAM + 16);
	fake_ring_sample(&s->base.rings.items[0], 20, PID, of_kernel, 2);
	sample(s, 0, 30, 16);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(s->n_samples, 3);
	assert_int_equal(s->samples[0].unwind_error, 3);
	assert_int_equal(s->samples[1].unwind_error, 0);
	assert_int_equal(s->samples[2].unwind_error, STACK_INVALID_MAP);
}

TEST_STATE(memory_without_a_file_shows_no_address, setup, teardown, struct perf_session *s)
{
	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 5, 0, PROGRAM);
	sample(s, 0, 10, PROGRAM + 16);
	assert_true(perf_records_read(&s->base));
	answer_perf_map(0);
	assert_true(stack_resolver_request_names(&s->base.resolver));
	perf_packets_write_samples(&s->base, true);
	assert_int_equal(
		VALUES(s, PB_TRACE_PACKET_INTERNED_DATA, PB_INTERNED_DATA_FRAMES, PB_FRAME_REL_PC)
			->of[0],
		16);
	assert_int_equal(VALUES(s, PB_TRACE_PACKET_INTERNED_DATA, PB_INTERNED_DATA_MAPPINGS,
				PB_MAPPING_EXACT_OFFSET)
				 ->of[0],
			 0);
	assert_int_equal(VALUES(s, PB_TRACE_PACKET_INTERNED_DATA, PB_INTERNED_DATA_MAPPINGS,
				PB_MAPPING_START)
				 ->of[0],
			 0);
}

TEST_STATE(code_that_the_process_compiled_has_its_names, setup, teardown, struct perf_session *s)
{
	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 5, 0, PROGRAM);
	sample(s, 0, 10, PROGRAM + 16);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(asked.n_perf_maps, 1);
	answer_perf_map(1);
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_names, 1);
	answer_names(s, asked.names[0].id, 1);
	assert_true(stack_resolver_request_names(&s->base.resolver));
	perf_packets_write_samples(&s->base, true);
	assert_int_equal(
		VALUES(s, PB_TRACE_PACKET_INTERNED_DATA, PB_INTERNED_DATA_FRAMES, PB_FRAME_KIND)
			->of[0],
		4);
	/* Not again within a second, but at the end. */
	sample(s, 0, 20, PROGRAM + 16);
	assert_true(perf_records_read(&s->base));
	assert_true(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_perf_maps, 1);
	s->base.resolver.is_last_round = true;
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_perf_maps, 2);
	answer_perf_map(1);
	assert_true(stack_resolver_request_names(&s->base.resolver));
}

TEST_STATE(names_are_requested_when_the_process_has_ended, setup, teardown, struct perf_session *s)
{
	const struct {
		uint32_t pid, parent, tid, parent_tid;
		uint64_t time;
	} ended = {PID, 1, PID, 1, 20};

	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 5, 0, PROGRAM);
	sample(s, 0, 10, PROGRAM + 16);
	assert_true(perf_records_read(&s->base));
	answer_perf_map(0);
	assert_true(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_perf_maps, 1);
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_EXIT, 0, 20, &ended, sizeof(ended));
	assert_true(perf_records_read(&s->base));
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_perf_maps, 2);
}

TEST_STATE(a_loss_is_counted_and_mappings_are_read_again, setup, teardown, struct perf_session *s)
{
	static const uint64_t lost[] = {0, 17};

	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 5, 7, 0);
	fake_ring_record(&s->base.rings.items[1], PERF_RECORD_LOST, 0, 6, lost, sizeof(lost));
	sample(s, 0, 10, PROGRAM + 16);
	assert_false(perf_records_read(&s->base));
	assert_int_equal(asked.n_maps, 1);
	assert_int_equal(s->n_lost, 17);
	assert_int_equal(
		VALUES(s, PB_TRACE_PACKET_PERF_SAMPLE, PB_PERF_SAMPLE_KERNEL_RECORDS_LOST)->of[0],
		17);
	assert_int_equal(VALUES(s, PB_TRACE_PACKET_PERF_SAMPLE, PB_PERF_SAMPLE_CPU)->of[0], 1);
}

TEST_STATE(without_a_reader_samples_have_no_user_functions, setup, teardown, struct perf_session *s)
{
	asked.has_ended = true;
	sample(s, 0, 10, PROGRAM + 16);
	assert_true(perf_records_read(&s->base));
	assert_true(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(s->n_samples, 1);
	assert_int_equal(s->base.resolver.outstanding, 0);
}

TEST_STATE(a_silent_reader_is_not_asked, setup, teardown, struct perf_session *s)
{
	s->base.resolver.reader_is_silent = true;
	sample(s, 0, 10, PROGRAM + 16);
	assert_true(perf_records_read(&s->base));
	assert_true(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_maps + asked.n_elf + asked.n_names, 0);
	assert_int_equal(s->n_samples, 1);
	s->base.resolver.reader_is_silent = false;
	sample(s, 0, 20, PROGRAM + 16);
	assert_false(perf_records_read(&s->base));
	assert_int_equal(asked.n_maps, 1);
}

/* ---- samples of the program ---- */

static struct stack_sample *program_samples;
static size_t n_program_samples;
static uint64_t program_lost;

const struct stack_sample *sample_program_peek(struct sample_program *p)
{
	return n_program_samples ? program_samples : NULL;
}

void sample_program_consume(struct sample_program *p)
{
	program_samples++;
	n_program_samples--;
}

int sample_program_read_lost(struct sample_program *p)
{
	return 0;
}

uint64_t sample_program_count_new_lost(struct sample_program *p, unsigned cpu)
{
	uint64_t n = cpu == 1 ? program_lost : 0;

	program_lost -= n;
	return n;
}

#define PROGRAM_SAMPLE(at, ...)                                                                    \
	{                                                                                          \
		.time = (at), .pid = PID, .tid = PID, .is_user = 1, __VA_ARGS__                    \
	}

/* The mapping at 15 holds for the samples from 20 on. */
TEST_STATE(samples_of_the_program_and_records_are_in_order_of_time, setup, teardown,
	   struct perf_session *s)
{
	struct stack_sample samples[] = {
		PROGRAM_SAMPLE(10, .n_user = 1, .addresses = {PROGRAM + 16}),
		PROGRAM_SAMPLE(20, .n_user = 2, .addresses = {PROGRAM + 16, PROGRAM + 31}),
		PROGRAM_SAMPLE(30, .n_user = 2, .addresses = {PROGRAM + 16, 7}),
		PROGRAM_SAMPLE(40, .n_user = 1, .error = 6, .addresses = {PROGRAM + 16}),
		PROGRAM_SAMPLE(50, .n_user = 1, .is_by_kernel = 1, .addresses = {PROGRAM + 16}),
		PROGRAM_SAMPLE(60, .n_user = 1, .error = 128, .addresses = {PROGRAM + 16}),
	};
	static const uint8_t errors[] = {
		STACK_INVALID_MAP, STACK_COMPLETE, STACK_INVALID_MAP, STACK_TOO_MANY_FRAMES, 3, 3};

	s->program = (struct sample_program *)samples;
	program_samples = samples;
	n_program_samples = ARRAY_SIZE(samples);
	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 15, 7, 0);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(s->n_samples, ARRAY_SIZE(samples));
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		assert_int_equal(s->samples[i].time, samples[i].time);
		assert_int_equal(s->samples[i].unwind_error, errors[i]);
		assert_int_equal(s->samples[i].mode, 2);
	}
	/* The address of a caller is in its call already. */
	assert_int_equal(s->base.resolver.stacks.n_frames, 3);
	assert_int_equal(s->base.resolver.stacks.frames[2].offset, 31);
	s->program = NULL;
}

TEST_STATE(a_sample_of_the_program_waits_for_mappings, setup, teardown, struct perf_session *s)
{
	struct stack_sample one = PROGRAM_SAMPLE(10, .n_user = 1, .addresses = {PROGRAM + 16});

	s->program = (struct sample_program *)&one;
	program_samples = &one;
	n_program_samples = 1;
	program_lost = 5;
	assert_false(perf_records_read(&s->base));
	assert_int_equal(n_program_samples, 1);
	assert_int_equal(s->n_lost, 5);
	answer_maps(s, PID, "/a");
	assert_true(perf_records_read(&s->base));
	assert_int_equal(n_program_samples, 0);
	assert_int_equal(s->samples[0].unwind_error, 0);
	assert_int_equal(s->n_lost, 5);
	s->program = NULL;
}

static unsigned n_followed;

void unwind_follow_record(const struct perf_event_header *h)
{
	n_followed += h->type == PERF_RECORD_MMAP2;
}

void unwind_request_files_of_stack(struct address_space *a, const struct mapped_files *files,
				   const uint64_t *addresses, size_t n, uint64_t now)
{
}

TEST_STATE(rows_are_of_the_files_of_processes_that_are_sampled, setup, teardown,
	   struct perf_session *s)
{
	struct stack_sample none;
	struct address_space *a = address_spaces_get(&s->base.resolver.spaces, PID);

	n_followed = 0;
	s->program = (struct sample_program *)&none;
	a->is_known = a->is_checked = true;
	map_record(s, 5, 7, 0);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(n_followed, 0);
	a->is_wanted = true;
	map_record(s, 6, 7, 0);
	assert_true(perf_records_read(&s->base));
	assert_int_equal(n_followed, 1);
	s->program = NULL;
}

/* ---- followers and further programs ---- */

/* A record of an event in a group: the number of counts, then each with its losses. */
TEST_STATE(a_sample_has_the_counts_of_its_followers, setup, teardown, struct perf_session *s)
{
	const uint64_t words[] = {(uint64_t)PID << 32 | PID, 10, 0, 3, 100, 0, 7, 0, 8, 0, 0};
	static const uint64_t chain_beyond[] = {1, 10, 0, 3, 100, 0, 7, 0, 8, 0};

	s->base.resolver.has_user_frames = false;
	s->perf.n_followers = 2;
	for (unsigned i = 0; i < 2; i++)
		s->base.rings.items[i].is_group = s->base.rings.items[i].counts_lost = true;
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_SAMPLE, 0, 10, words, sizeof(words));
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_SAMPLE, 0, 10, chain_beyond,
			 sizeof(chain_beyond));
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_SAMPLE, 0, 10, words,
			 8 * sizeof(*words));
	assert_true(perf_records_read(&s->base));
	assert_int_equal(s->n_samples, 1);
	assert_int_equal(s->samples[0].count, 100);
	assert_int_equal(s->follower_counts[0], 7);
	assert_int_equal(s->follower_counts[1], 8);
}

static const char *cmdline;

ssize_t outside_read(const char *path, void *buf, size_t size, int wait_ms)
{
	const char *name = strrchr(path, '/') + 1,
		   *text = strcmp(name, "status") == 0 ? "Name:\tn\nUid:\t0\t33\nNSpid:\t4242\t7\n"
			   : strcmp(name, "stat") == 0
				   ? "4242 (n) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0"
				   : cmdline;

	memcpy(buf, text, strlen(text));
	return (ssize_t)strlen(text);
}

static size_t samples_of(struct perf_session *s, uint32_t pid, const char *line)
{
	const uint64_t no_chain[1] = {0};
	size_t before = s->n_samples;

	cmdline = line;
	fake_ring_sample(&s->base.rings.items[0], before + 1, pid, no_chain, 0);
	assert_true(perf_records_read(&s->base));
	return s->n_samples - before;
}

TEST_STATE(the_first_programs_are_sampled_besides_those_of_the_scope, setup, teardown,
	   struct perf_session *s)
{
	s->base.resolver.has_user_frames = false;
	s->perf.n_additional = 2;
	assert_int_equal(samples_of(s, 10, "a"), 1);
	assert_int_equal(samples_of(s, 11, "b"), 1);
	assert_int_equal(samples_of(s, 12, "c"), 0);
	assert_int_equal(samples_of(s, 13, "a"), 1);
	assert_int_equal(samples_of(s, 12, "c"), 0);
	assert_int_equal(samples_of(s, 14, ""), 0);
	while (s->n_additional)
		free(s->additional[--s->n_additional]);
	free(s->additional);
}

/* ---- names of tasks ---- */

uint64_t ds_session_id(const struct ds_handle *h)
{
	return 1;
}

static struct metadata_task renamed[8];
static size_t n_renamed, n_tids;

static void on_metadata(void *ctx, const struct metadata_batch *batch)
{
	for (size_t i = 0; i < batch->n_tasks; i++) {
		assert_true(n_renamed < ARRAY_SIZE(renamed));
		renamed[n_renamed++] = batch->tasks[i];
		if (batch->tasks[i].kind == METADATA_TASK_EXEC)
			assert_memory_equal(batch->tasks[i].file, "hot", 3);
	}
	n_tids += batch->n_tids;
}

static void comm(struct perf_session *s, uint64_t time, uint32_t tid, const char *name,
		 bool is_exec)
{
	struct {
		uint32_t pid, tid;
		char name[16];
	} body = {.pid = PID, .tid = tid};

	strcpy(body.name, name);
	fake_ring_record(&s->base.rings.items[0], PERF_RECORD_COMM,
			 is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0, time, &body, sizeof(body));
}

TEST_STATE(new_names_of_tasks_are_published_before_their_samples, setup, teardown,
	   struct perf_session *s)
{
	n_renamed = n_tids = 0;
	s->base.bus = metadata_bus_new();
	s->base.is_publisher = true;
	assert_int_equal(metadata_bus_subscribe(s->base.bus, 1, on_metadata, s), 0);
	comm(s, 5, PID, "hot", true);
	comm(s, 6, PID + 1, "thread", false);
	sample(s, 0, 10, PROGRAM);
	assert_true(perf_records_read(&s->base));
	perf_packets_write_samples(&s->base, true);
	assert_int_equal(n_renamed, 3);
	assert_int_equal(renamed[0].kind, METADATA_TASK_EXEC);
	assert_int_equal(renamed[0].tid, PID);
	assert_int_equal(renamed[0].file_len, 3);
	assert_int_equal(renamed[1].kind, METADATA_TASK_RENAMED);
	assert_string_equal(renamed[1].name, "hot");
	assert_int_equal(renamed[1].time_ns, 5);
	assert_int_equal(renamed[2].tid, PID + 1);
	assert_string_equal(renamed[2].name, "thread");
	assert_int_equal(n_tids, 1);
	metadata_bus_unsubscribe(s->base.bus, 1, s);
	s->base.is_publisher = false;
	s->base.bus = metadata_bus_free(s->base.bus);
	free(s->base.tids);
	free(s->renamed);
}

/* ---- names ---- */

static void sample_functions(struct perf_session *s, unsigned n)
{
	address_spaces_exec(&s->base.resolver.spaces, PID);
	map_record(s, 1, 7, 0);
	for (unsigned i = 0; i < n; i++) {
		sample(s, 0, 10 + i, PROGRAM + i * 16);
		assert_true(perf_records_read(&s->base));
	}
	assert_int_equal(s->base.resolver.stacks.n_frames, n);
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_elf, 1);
	answer_elf(s);
}

TEST_STATE(all_new_frames_are_asked_for_in_several_requests, setup, teardown,
	   struct perf_session *s)
{
	const unsigned n = 2 * FILE_NAMES_MAX + 3;
	struct values *v;

	sample_functions(s, n);
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_names, 3);
	for (unsigned i = 0; i < 3; i++)
		answer_names(s, asked.names[i].id, asked.names[i].n);
	assert_true(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_names, 3);
	perf_packets_write_samples(&s->base, true);
	v = VALUES(s, PB_TRACE_PACKET_INTERNED_DATA, PB_INTERNED_DATA_FRAMES,
		   PB_FRAME_FUNCTION_NAME_ID);
	assert_int_equal(v->n, n);
}

TEST_STATE(a_busy_reader_is_asked_again, setup, teardown, struct perf_session *s)
{
	sample_functions(s, FILE_NAMES_MAX + 1);
	asked.is_busy = true;
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_names, 0);
	asked.is_busy = false;
	assert_false(stack_resolver_request_names(&s->base.resolver));
	assert_int_equal(asked.n_names, 2);
	assert_int_equal(asked.names[0].n, FILE_NAMES_MAX);
	assert_int_equal(asked.names[1].n, 1);
}

TEST_STATE(an_answer_with_more_names_than_asked_changes_no_other_frame, setup, teardown,
	   struct perf_session *s)
{
	sample_functions(s, 1);
	assert_false(stack_resolver_request_names(&s->base.resolver));
	memset(s->base.resolver.requests[0].frames + 1, 0xff,
	       sizeof(s->base.resolver.requests[0].frames) - sizeof(uint32_t));
	answer_names(s, 0, FILE_NAMES_MAX);
	assert_true(s->base.resolver.stacks.frames[0].name > 0);
	answer_names(s, 1, FILE_NAMES_MAX); /* without a request */
	answer_names(s, UINT64_MAX, FILE_NAMES_MAX);
	assert_int_equal(s->base.resolver.outstanding, 0);
	assert_true(stack_resolver_request_names(&s->base.resolver));
}
