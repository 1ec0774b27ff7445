/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which programs of a family a kernel gets, for kernels that are not this one: some of its facts
 * are fakes. Where we may load programs, what was chosen is loaded too.
 */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "ebpf/engine/errors.h"
#include "ebpf/engine/family.h"
#include "ebpf/families/families.h"
#include "unit/client/read_tracks.h"

#define TRACEFS "/sys/kernel/tracing"

static struct ebpf_features real, faked;
static struct ebpf_errors errors;
static struct {
	bool no_btf, no_events;
	const char *tracepoint; /* has so many arguments, or is not there (-ENOENT) */
	int args;
} kernel;

static int count_args(void *ctx, const char *tracepoint)
{
	if (kernel.no_btf)
		return -EOPNOTSUPP;
	if (kernel.tracepoint && !strcmp(tracepoint, kernel.tracepoint))
		return kernel.args;
	return real.count_args(real.ctx, tracepoint);
}

static int find_field(void *ctx, const char *event, const char *field, struct sonda_field *ret)
{
	const char *name = strchr(event, '/');

	if (kernel.no_events)
		return -ENOENT;
	if (kernel.tracepoint && kernel.args < 0 && name && !strcmp(name + 1, kernel.tracepoint))
		return -ENOENT;
	return real.find_field(real.ctx, event, field, ret);
}

static int setup(void **state)
{
	memset(&kernel, 0, sizeof(kernel));
	if (ebpf_features_new(TRACEFS, &real) < 0)
		return -1;
	faked = real;
	faked.count_args = count_args;
	faked.find_field = find_field;
	return 0;
}

static int teardown(void **state)
{
	ebpf_features_free(&real);
	ebpf_errors_deinit(&errors);
	return 0;
}

static const struct ebpf_family *family_by_id(Pb__EbpfCountersConfig__Family id)
{
	for (size_t i = 0; i < ebpf_n_families; i++)
		if (ebpf_families[i]->id == id)
			return ebpf_families[i];
	return NULL;
}

static void need_a_kernel_with_btf(void)
{
	if (real.count_args(real.ctx, "sched_switch") < 0 ||
	    !ebpf_has_field(&real, "irq/softirq_entry", "vec"))
		skip();
}

static struct err_text why;

/* The name of the variant, or NULL and why. */
static const char *variant_of(Pb__EbpfCountersConfig__Family id)
{
	const struct ebpf_family *f = family_by_id(id);
	int i;

	assert_non_null(f);
	why.text[0] = '\0';
	i = ebpf_choose_variant(&faked, f->variants, f->n_variants, 0, &why);
	return i < 0 ? NULL : f->variants[i].name;
}

static const Pb__EbpfCountersConfig__Family without_structs[] = {
	PB__EBPF_COUNTERS_CONFIG__FAMILY__FAULTS,     PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS,
	PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS, PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP,
	PB__EBPF_COUNTERS_CONFIG__FAMILY__MEMORY,
};

/* Locks have tracepoints since 5.19. */
static bool is_there(Pb__EbpfCountersConfig__Family id)
{
	return id != PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS ||
	       ebpf_has_field(&real, "lock/contention_begin", "flags");
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(with_btf_the_first_variant)
{
	need_a_kernel_with_btf();
	for (size_t i = 0; i < ARRAY_SIZE(without_structs); i++)
		if (is_there(without_structs[i]))
			assert_memory_equal(variant_of(without_structs[i]), "tp_btf", 6);
	assert_string_equal(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), "tp_btf");
}

FIXTURE_TEST(without_btf_raw_tracepoints)
{
	need_a_kernel_with_btf();
	kernel.no_btf = true;
	for (size_t i = 0; i < ARRAY_SIZE(without_structs); i++)
		if (is_there(without_structs[i]))
			assert_string_equal(variant_of(without_structs[i]), "raw_tp");
	/* Arguments that are structs are of no use; the record is. */
	assert_string_equal(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), "tp");
	kernel.no_events = true;
	assert_null(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK));
	assert_non_null(strstr(why.text, "no BTF"));
	assert_non_null(strstr(why.text, "the kernel has no event block/block_rq_insert"));
}

FIXTURE_TEST(old_and_unknown_arguments)
{
	need_a_kernel_with_btf();
	kernel.tracepoint = "block_rq_issue";
	kernel.args = 2;
	assert_string_equal(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), "tp_btf");
	kernel.args = 3;
	assert_string_equal(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), "tp");
	assert_non_null(
		strstr(why.text, "block_rq_issue has an unsupported number of arguments: 3"));
	/* Where it has a record, fields have names. */
	kernel.tracepoint = "softirq_exit";
	kernel.args = 3;
	assert_string_equal(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS), "tp");
	kernel.args = -ENOENT;
	assert_null(variant_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS));
	assert_non_null(strstr(why.text, "softirq_exit"));
}

/* ---- loaded ---- */

static struct writer *w;
static struct ebpf_run run;

/* Starts a family by these features, reads it once, and stops it: 0 or -errno. */
static int try_family(const struct ebpf_family *f)
{
	const struct ebpf_scope scope = {.own_pid = (uint32_t)getpid()};
	int r;

	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
	run = (struct ebpf_run){.family = f,
				.n_cpus = ebpf_count_cpus(),
				.top_n = 4,
				.proc_root = "/proc",
				.process_rows =
					f->id == PB__EBPF_COUNTERS_CONFIG__FAMILY__PROCESSES,
				.writer = w,
				.errors = &errors};
	assert_int_equal(tracks_new("test", w, &run.tracks), 0);
	why.text[0] = '\0';
	r = ebpf_run_start(&run, &faked, &scope, &why);
	if (r == 0) {
		tracks_begin(run.tracks, 1);
		r = ebpf_run_read(&run);
		ebpf_run_remove_tracks(&run);
		tracks_end(run.tracks);
		ebpf_run_stop(&run);
		/* Nothing of it stays. */
		if (r == 0)
			assert_int_equal(tracks_counts(run.tracks).tracks, 0);
	}
	tracks_free(run.tracks);
	writer_free(w);
	fake_reset();
	return r;
}

static int try(Pb__EbpfCountersConfig__Family id)
{
	return try_family(family_by_id(id));
}

static void need_permission(void)
{
	if (try(PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP) == -EPERM)
		skip();
}

FIXTURE_TEST(raw_tracepoints_load)
{
	need_a_kernel_with_btf();
	need_permission();
	kernel.no_btf = true;
	for (size_t i = 0; i < ARRAY_SIZE(without_structs); i++) {
		int r;

		if (!is_there(without_structs[i]))
			continue;
		r = try(without_structs[i]);
		if (r)
			fail_msg("%d: %s", without_structs[i], why.text);
		assert_string_equal(run.variant->name, "raw_tp");
	}
}

FIXTURE_TEST(refused_variants_are_skipped)
{
	const struct ebpf_family *tcp = family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP);
	struct ebpf_variant variants[8];
	struct ebpf_family f = *tcp;

	need_a_kernel_with_btf();
	need_permission();
	assert_in_range(tcp->n_variants, 3, ARRAY_SIZE(variants));
	memcpy(variants, tcp->variants, (size_t)tcp->n_variants * sizeof(*variants));
	f.variants = variants;
	/* Nothing that a kernel would take. */
	variants[0].image.end = variants[0].image.begin + 1;
	if (try_family(&f))
		fail_msg("%s", why.text);
	assert_string_equal(run.variant->name, "raw_tp");
	variants[1].image.end = variants[1].image.begin + 1;
	if (try_family(&f))
		fail_msg("%s", why.text);
	assert_string_equal(run.variant->name, "tp");
	/* The first one's reason is reported. */
	variants[2].image.end = variants[2].image.begin + 1;
	assert_int_not_equal(try_family(&f), 0);
	assert_non_null(strstr(why.text, "tcp.bpf.o could not be read"));
}

/* ---- all variants of a family at the same time ---- */

#define RUNGS_MAX 4

static struct ebpf_family one_rung[RUNGS_MAX];
static struct ebpf_run runs[RUNGS_MAX];

/* The sum of all counters that are called so. */
static int64_t figure(struct ebpf_run *r, const char *name)
{
	int64_t sum = 0;

	fake_reset_packets();
	tracks_clear(r->tracks);
	assert_int_equal(ebpf_run_read(r), 0);
	tracks_flush(r->tracks);
	read_tracks();
	for (size_t i = 0; i < rd.n_tracks; i++)
		for (size_t v = rd.n_values; v-- > 0;)
			if (rd.values[v].uuid == rd.tracks[i].uuid &&
			    fnmatch(name, rd.tracks[i].name, 0) == 0) {
				sum += rd.values[v].i;
				break;
			}
	return sum;
}

static void pack_memory(void)
{
	int fd = open("/proc/sys/vm/compact_memory", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "1", 1);
	close(fd);
}

/* To a port without a listener: each is dropped, in a softirq. */
static void send_to_nobody(void)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons(9),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 400; i++)
		(void)sendto(fd, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
	close(fd);
}

static void touch_memory(void)
{
	const size_t pages = 2000, size = (size_t)sysconf(_SC_PAGESIZE);
	char *m = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_ptr_not_equal(m, MAP_FAILED);
	(void)madvise(m, pages * size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		m[i * size] = 1;
	munmap(m, pages * size);
}

/* All want the lock of the process's memory. */
static void *map_and_unmap(void *arg)
{
	for (int i = 0; i < 10000; i++)
		munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
	return NULL;
}

static void wait_for_locks(void)
{
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, map_and_unmap, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
}

/* Between two switches, so that all know of it. */
static void spin(void)
{
	const struct timespec moment = {.tv_nsec = 1000000};
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + 60000000;

	nanosleep(&moment, NULL);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	nanosleep(&moment, NULL);
}

static void sleep_often(void)
{
	const struct timespec moment = {.tv_nsec = 1000};

	for (int i = 0; i < 1000; i++)
		nanosleep(&moment, NULL);
}

#define LOAD_TRIES 100

/* Each variant by itself; all see the same load, which goes on until the first counted min. */
static void compare(const struct ebpf_family *f, const char *name, void (*load)(void), int64_t min)
{
	const uint32_t us = (uint32_t)getpid();
	const struct ebpf_scope scope = {.own_pid = 1, .pids = &us, .n_pids = 1};
	int64_t before[RUNGS_MAX], counted[RUNGS_MAX], first, least = 0;

	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
	for (int i = 0; i < f->n_variants; i++) {
		one_rung[i] = *f;
		one_rung[i].variants = &f->variants[i];
		one_rung[i].n_variants = 1;
		runs[i] = (struct ebpf_run){.family = &one_rung[i],
					    .n_cpus = ebpf_count_cpus(),
					    .top_n = 4,
					    .proc_root = "/proc",
					    .errors = &errors};
		assert_int_equal(tracks_new("test", w, &runs[i].tracks), 0);
		if (ebpf_run_start(&runs[i], &faked, &scope, &why))
			fail_msg("%s, %s: %s", f->name, f->variants[i].name, why.text);
	}
	/* The machine goes on between two looks: the first is looked at before and after the
	 * others. */
	for (int i = 0; i < f->n_variants; i++)
		before[i] = figure(&runs[i], name);
	first = figure(&runs[0], name);
	/* Threads that share too few CPUs hardly wait for each other. */
	for (int tries = 0; tries < LOAD_TRIES && (!tries || least < min); tries++) {
		load();
		least = figure(&runs[0], name) - first;
	}
	for (int i = f->n_variants; i-- > 0;)
		counted[i] = figure(&runs[i], name) - before[i];
	for (int i = 0; i < f->n_variants; i++) {
		ebpf_run_stop(&runs[i]);
		tracks_free(runs[i].tracks);
	}
	writer_free(w);
	fake_reset();
	for (int i = 0; i < f->n_variants; i++)
		if (counted[i] < min || counted[i] > counted[0] + counted[0] / 20 + 20 ||
		    counted[i] < least - least / 20 - 20)
			fail_msg("%s, %s: %d, and by the first %d to %d", name, f->variants[i].name,
				 (int)counted[i], (int)least, (int)counted[0]);
}

FIXTURE_TEST(every_variant_counts_the_same)
{
	need_a_kernel_with_btf();
	need_permission();
	compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS), "softirqs NET_RX",
		send_to_nobody, 300);
	compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP), "dropped packets",
		send_to_nobody, 400);
	if (ebpf_has_field(&real, "skb/kfree_skb", "reason"))
		compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP), "NO_SOCKET",
			send_to_nobody, 400);
	if (access("/proc/sys/vm/compact_memory", W_OK) == 0)
		compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__MEMORY), "compactions",
			pack_memory, 1);
}

FIXTURE_TEST(every_variant_of_processes_counts_the_same)
{
	need_a_kernel_with_btf();
	need_permission();
	if (ebpf_has_field(&real, "exceptions/page_fault_user", "address"))
		compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__FAULTS), "page faults",
			touch_memory, 2000);
	compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__CPU_TIME), "CPU time", spin,
		50000000);
	compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__RUNQ), "context switches",
		sleep_often, 1000);
	compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__SYSCALLS), "clock_nanosleep",
		sleep_often, 1000);
	if (is_there(PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS))
		compare(family_by_id(PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS), "rwsem write waits",
			wait_for_locks, 10);
}

FIXTURE_TEST(every_family_begins_and_ends)
{
	need_a_kernel_with_btf();
	need_permission();
	for (size_t i = 0; i < ebpf_n_families; i++)
		if (variant_of(ebpf_families[i]->id) && try(ebpf_families[i]->id) != 0)
			fail_msg("%s: %s", ebpf_families[i]->name, why.text);
}

FIXTURE_TEST(rejections_by_the_verifier_are_reported)
{
	need_a_kernel_with_btf();
	need_permission();
	kernel.tracepoint = "block_rq_issue";
	kernel.args = 3 - real.count_args(real.ctx, "block_rq_issue"); /* 1 for 2 */
	if (try(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK) != 0)
		fail_msg("%s", why.text);
	assert_string_equal(run.variant->name, "tp");
	kernel.no_events = true;
	assert_int_not_equal(try(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), 0);
	assert_non_null(strstr(why.text, "block.bpf.o could not be"));
}
