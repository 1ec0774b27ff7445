/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: ebpf_reads [-c CPUS] [-e PERCENT] [-p PROCESSES] [-n PERIODS] [FAMILY...]
 *
 * What it takes to read the maps of each family of linux.ebpf_counters at the end of a period, on a
 * machine of so many CPUs (64): CPU time of a read, and what that is of one CPU every 100 ms. The
 * families are loaded into this kernel, and their maps read from it as ever; each CPU's values grow
 * between reads. Where this machine has fewer CPUs than asked, the values of a per-CPU array are
 * those of a plain one of the same bytes: a stand-in, which the system call below changes for it.
 *
 * -p: processes with sums (1000), a quarter of which did something in the period, each on 8 of the
 * CPUs. -e: instead of that, so many percent of the elements that hashes have room for.
 *
 * Nothing is committed to a service. Needs root. "default" at the end is the sum of the families
 * that a config without any has.
 */
#include <dlfcn.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "../tests/unit/procfs/fake_producer.h"
#include "base/core/mem.h"
#include "bpf/block.h"
#include "bpf/locks.h"
#include "bpf/memory.h"
#include "bpf/process.h"
#include "bpf/runq.h"
#include "ebpf/engine/errors.h"
#include "ebpf/engine/family.h"
#include "ebpf/families/families.h"
#include "ebpf/tracks/per_process.h"

static uint32_t n_cpus = 64, n_processes = 1000, percent_full, n_periods = 50;
static char proc_root[] = "/dev/shm/ebpf_reads.XXXXXX";

#define FIRST_PID 1000000u
#define PROCESSES_EACH 32768u /* directories of them */
#define CPUS_OF_PROCESS 8u
#define CALLS_OF_PROCESS 8u
#define ACTIVE 4u /* one in so many */
#define DISKS 24u
#define PERIOD_NS 100000000.0

/* ---- per-CPU arrays, also of more CPUs than there are ---- */

static struct array {
	int fd, values_fd; /* the object's; of a stand-in, or the same */
	size_t size; /* of a CPU's value */
	char *values; /* of all */
} arrays[4];
static size_t n_arrays;

/* In place of the C library's, which libbpf calls. */
long syscall(long nr, ...)
{
	static long (*real)(long, ...);
	unsigned long args[6];
	union bpf_attr other;
	va_list list;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(list, nr);
	for (size_t i = 0; i < ARRAY_SIZE(args); i++)
		args[i] = va_arg(list, unsigned long);
	va_end(list);
	if (nr == SYS_bpf && args[0] == BPF_MAP_LOOKUP_ELEM) {
		memcpy(&other, (const void *)args[1], MIN(args[2], sizeof(other)));
		for (size_t i = 0; i < n_arrays; i++)
			if (arrays[i].fd == (int)other.map_fd)
				other.map_fd = (uint32_t)arrays[i].values_fd;
		return real(nr, args[0], &other, args[2]);
	}
	return real(nr, args[0], args[1], args[2], args[3], args[4], args[5]);
}

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "ebpf_reads: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int find_map(const struct ebpf_run *r, const char *name, struct bpf_map_info *ret)
{
	int fd = ebpf_object_map(r->object, name);
	uint32_t len = sizeof(*ret);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, ret, &len) < 0 ? -1 : fd;
}

static void add_array(const struct ebpf_run *r, const char *name)
{
	struct bpf_map_info info = {0};
	int fd = find_map(r, name, &info);
	struct array a = {.fd = fd, .values_fd = fd, .size = (info.value_size + 7) / 8 * 8};

	if (fd < 0)
		return;
	a.values = calloc(n_cpus, a.size);
	if (n_cpus != ebpf_count_cpus())
		a.values_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "stand_in", sizeof(uint32_t),
					     (uint32_t)(a.size * n_cpus), 1, NULL);
	check(a.values ? a.values_fd : -1, name);
	arrays[n_arrays++] = a;
}

static void free_arrays(void)
{
	for (; n_arrays; n_arrays--) {
		const struct array *a = &arrays[n_arrays - 1];

		free(a->values);
		if (a->values_fd != a->fd)
			close(a->values_fd);
	}
}

/* ---- a period of a busy machine ---- */

static uint32_t some(uint32_t below)
{
	static uint32_t x = 1;

	x = x * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)x * below >> 32);
}

/* Most of some microseconds, few of some milliseconds. */
static void grow_histogram(struct sonda_hist *h, struct sonda_max *max, uint64_t generation, int n)
{
	for (int i = 0; i < n; i++)
		h->buckets[200 + some(20) + some(20) * some(20)]++;
	max->generation[generation & 1] = generation;
	max->max[generation & 1] = 20000000 + some(1000);
}

static void grow_runq(struct runq_cpu *c, uint64_t generation)
{
	c->switches += 2000;
	c->clock += 100000000;
	c->depth_ns += some(200000000);
	c->depth_max.generation[generation & 1] = generation;
	c->depth_max.max[generation & 1] = some(10);
	grow_histogram(&c->wait, &c->wait_max, generation, 1000);
}

static void grow_sums(uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] += 1 + some(100000);
}

static void grow_cpu(const struct ebpf_run *r, void *value)
{
	switch (r->family->id) {
	case PB__EBPF_COUNTERS_CONFIG__FAMILY__RUNQ:
		grow_runq(value, r->generation + 1);
		return;
	case PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS:
		grow_sums(value, 2 * 8); /* eight kinds of softirqs */
		return;
	case PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP:
		grow_sums(value, 5 + 16); /* drops have 16 reasons */
		return;
	case PB__EBPF_COUNTERS_CONFIG__FAMILY__MEMORY:
		grow_sums(value, 2 * MEMORY_STALLS);
		return;
	default:
		grow_sums(value, 2 * LOCK_KINDS);
		return;
	}
}

/* Of "cpus", the first; the others say what was lost, and nothing is. */
static void grow_arrays(const struct ebpf_run *r)
{
	uint32_t zero = 0;

	for (size_t i = 0; i < n_arrays; i++) {
		for (uint32_t cpu = 0; cpu < n_cpus && r->family->cpu_size && i == 0; cpu++)
			grow_cpu(r, arrays[i].values + cpu * arrays[i].size);
		check(bpf_map_update_elem(arrays[i].values_fd, &zero, arrays[i].values, BPF_ANY),
		      "values of CPUs");
	}
}

/* Where a CPU has the element of a key, or a free one. */
static uint64_t *place_of(const struct per_process *p, uint32_t cpu, uint64_t key)
{
	uint64_t *keys = (uint64_t *)p->keys.at + (size_t)cpu * p->n_each;
	uint32_t i = SONDA_PROCESS_HASH(key) * SONDA_PROCESS_WAYS % p->n_each;

	while (keys[i] && keys[i] != key)
		i = (i + 1) % p->n_each;
	return &keys[i];
}

/* Sums by process, of each CPU that it ran on. Only those that grow are written, after the
 * first. */
static uint32_t grow_processes(const struct ebpf_run *r, uint32_t period)
{
	bool has_calls = r->family->id == PB__EBPF_COUNTERS_CONFIG__FAMILY__SYSCALLS;
	uint32_t each = CPUS_OF_PROCESS * (has_calls ? CALLS_OF_PROCESS : 1), n = n_processes;
	const struct per_process *p = r->processes;

	if (percent_full)
		n = (uint32_t)((uint64_t)p->n_each * n_cpus * percent_full / 100 / each);
	n = MIN(n, PROCESSES_EACH);
	for (uint32_t i = 0; i < n * each; i++) {
		uint32_t pid = FIRST_PID + i / each, cpu = (pid + i * n_cpus / 8) % n_cpus;
		uint64_t key =
			SONDA_PROCESS_KEY(pid, i / CPUS_OF_PROCESS % CALLS_OF_PROCESS * has_calls);
		uint64_t *place, *values;

		if (period && pid % ACTIVE)
			continue;
		place = place_of(p, cpu, key);
		*place = key;
		values = (uint64_t *)p->values.at +
			 (size_t)(place - (uint64_t *)p->keys.at) * p->spec->n_values;
		for (size_t v = 0; v < p->spec->n_values; v++)
			values[v] = 1000 + (uint64_t)(period + 1) * (i + v);
	}
	return n * each;
}

static uint32_t grow_block(const struct ebpf_run *r, uint32_t period)
{
	static struct block_disk values[DISKS][3];
	struct bpf_map_info info = {0};
	int disks = find_map(r, "disks", &info), processes = find_map(r, "processes", &info);
	uint32_t n = percent_full ? info.max_entries / 100 * percent_full : n_processes / ACTIVE;

	for (uint32_t i = 0; i < DISKS * 3; i++) {
		const struct block_key key = {.disk = 8 << 20 | i / 3, .op = i % 3};
		struct block_disk *d = &values[i / 3][i % 3];

		snprintf(d->name, sizeof(d->name), "disk%u", i / 3);
		d->begun = d->ended += 200;
		d->bytes += 200 * 4096;
		grow_histogram(&d->latency, &d->latency_max, r->generation + 1, 200);
		check(bpf_map_update_elem(disks, &key, d, BPF_ANY), "values of disks");
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t key = FIRST_PID + i;
		const struct block_process value = {.begun = period,
						    .ended = period,
						    .read = (uint64_t)period * i,
						    .written = (uint64_t)period * 4096};

		check(bpf_map_update_elem(processes, &key, &value, BPF_ANY), "processes");
	}
	return DISKS * 3 + n;
}

/* ---- measured ---- */

static struct ebpf_features features;

/* ns of a read, on average without the first, which makes tracks; 0: the family does not run
 * here. */
static double measure(struct ebpf_run *r)
{
	const struct ebpf_scope scope = {.own_pid = (uint32_t)getpid()};
	uint64_t sum = 0, worst = 0, bytes = 0;
	uint32_t elements = 0;
	struct err_text why;

	if (ebpf_run_start(r, &features, &scope, &why) < 0) {
		printf("%-10s %s\n", r->family->name, why.text);
		return 0;
	}
	add_array(r, "cpus");
	add_array(r, "lost");
	for (uint32_t period = 0; period <= n_periods; period++) {
		uint64_t began, took;

		grow_arrays(r);
		elements = r->family->processes ? grow_processes(r, period)
			   : r->family->id == PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK
				   ? grow_block(r, period)
				   : 0;
		began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
		if (ebpf_run_read(r) < 0)
			fprintf(stderr, "ebpf_reads: %s: not read\n", r->family->name);
		tracks_end(r->tracks);
		took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
		for (size_t i = 0; i < fake.n && period; i++)
			bytes += fake.packets[i].len;
		fake_reset_packets();
		sum += period ? took : 0;
		worst = period ? MAX(worst, took) : 0;
	}
	printf("%-10s %6.0f us a read (at most %.0f), %5.2f %% of one CPU; %u CPUs, %u elements, "
	       "%" PRIu64 " bytes of trace\n",
	       r->family->name, (double)sum / n_periods / 1e3, (double)worst / 1e3,
	       (double)sum / n_periods / PERIOD_NS * 100, n_cpus, elements, bytes / n_periods);
	free_arrays();
	ebpf_run_stop(r);
	return (double)sum / n_periods;
}

static double measure_family(const struct ebpf_family *f)
{
	struct ebpf_errors errors = {.n = 0};
	struct ebpf_run r = {.family = f,
			     .n_cpus = n_cpus,
			     .top_n = 16,
			     .proc_root = proc_root,
			     .errors = &errors};
	struct writer *w = writer_new(NULL, 1, WRITER_DROP);
	double ns;

	fake_reset_packets();
	check(w ? tracks_new("bench", w, &r.tracks) : -1, "tracks");
	ns = measure(&r);
	tracks_free(r.tracks);
	writer_free(w);
	ebpf_errors_deinit(&errors);
	return ns;
}

/* A /proc in which the processes of the hashes are. */
static void with_processes(int (*fn)(const char *path))
{
	char path[64];

	for (uint32_t i = 0; i < PROCESSES_EACH; i++) {
		snprintf(path, sizeof(path), "%s/%u", proc_root, FIRST_PID + i);
		check(fn(path), path);
	}
}

static int make_dir(const char *path)
{
	return mkdir(path, 0700);
}

static bool is_asked(const struct ebpf_family *f, char **names)
{
	for (; *names; names++)
		if (!strcasecmp(*names, f->name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	double of_default = 0, ns;
	int c;

	while ((c = getopt(argc, argv, "c:e:p:n:")) >= 0) {
		uint32_t n = (uint32_t)strtoul(optarg ? optarg : "", NULL, 10);

		switch (c) {
		case 'c':
			n_cpus = MAX(n, 1u);
			break;
		case 'e':
			percent_full = MIN(n, 100u);
			break;
		case 'p':
			n_processes = MIN(n, PROCESSES_EACH);
			break;
		case 'n':
			n_periods = MAX(n, 1u);
			break;
		default:
			return 2;
		}
	}
	check(mkdtemp(proc_root) ? 0 : -1, proc_root);
	with_processes(make_dir);
	check(ebpf_features_new("/sys/kernel/tracing", &features), "facts");
	for (size_t i = 0; i < ebpf_n_families; i++) {
		const struct ebpf_family *f = ebpf_families[i];

		if (argv[optind] && !is_asked(f, argv + optind))
			continue;
		ns = measure_family(f);
		of_default += f->by_default ? ns : 0;
	}
	printf("%-10s %6.0f us a read of each, %.2f %% of one CPU\n", "default", of_default / 1e3,
	       of_default / PERIOD_NS * 100);
	ebpf_features_free(&features);
	with_processes(rmdir);
	return rmdir(proc_root) < 0;
}
