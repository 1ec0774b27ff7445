/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ebpf/family_rig.h"

#include <sys/syscall.h>

#include "bpf/process.h"
#include "bpf/syscalls.h"
#include "ebpf/families/families.h"
#include "ebpf/tracks/per_process.h"

/* A free element of a CPU's becomes that of a key, as in the kernel: its values. */
static uint64_t *add_element(uint32_t cpu, uint32_t pid, uint32_t what)
{
	const struct per_process *p = rig.run.processes;
	uint64_t *keys = (uint64_t *)fake_map("process_keys")->at;
	size_t at = (size_t)cpu * p->n_each + pid % 100;

	while (keys[at])
		at++;
	keys[at] = SONDA_PROCESS_KEY(pid, what);
	return (uint64_t *)(fake_map("processes")->at) + at * p->spec->n_values;
}

static unsigned count_elements(void)
{
	const struct per_process *p = rig.run.processes;
	const uint64_t *keys = (const uint64_t *)fake_map("process_keys")->at;
	unsigned n = 0;

	for (size_t i = 0; i < (size_t)p->n_each * p->n_cpus; i++)
		n += keys[i] != 0;
	return n;
}

static const char *path_of(uint32_t pid, const char *counter)
{
	static char path[128];

	snprintf(path, sizeof(path), "process %u/%s", pid, counter);
	return path;
}

#define FIXTURE_TEST(name) TEST_WITH(name, rig_setup, rig_end)

FIXTURE_TEST(elements_of_all_cpus_add_up)
{
	const uint32_t pid = (uint32_t)getpid();
	uint64_t *a, *b;

	rig_start(&faults_family);
	a = add_element(0, pid, 0);
	b = add_element(3, pid, 0);
	a[0] = 10;
	b[0] = 5;
	b[1] = 1;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last(path_of(pid, "page faults")), 15);
	assert_int_equal(read_last(path_of(pid, "major page faults")), 1);
	assert_int_equal(read_last("eBPF/page faults"), 15);
	a[0] = 11;
	rig_read();
	assert_int_equal(read_last(path_of(pid, "page faults")), 16);
	assert_null(read_find("eBPF/page faults lost"));
}

FIXTURE_TEST(exited_processes_make_room)
{
	pid_t child = fork();
	uint64_t *v;

	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	rig_start(&faults_family);
	v = add_element(1, (uint32_t)child, 0);
	v[0] = 7;
	rig_read();
	/* Only what has not grown is looked for, some at a time; then its element is emptied, then
	 * free. */
	for (int i = 0; i < 14 && count_elements(); i++)
		rig_read();
	assert_int_equal(count_elements(), 0);
	assert_int_equal(v[0], 0);
	assert_int_equal(read_last(path_of((uint32_t)child, "page faults")), 7);
	assert_int_equal(read_last("eBPF/page faults"), 7);
	/* Another one takes its place, with counts of its own. */
	v = add_element(1, (uint32_t)getpid(), 0);
	v[0] = 3;
	rig_read();
	assert_int_equal(read_last(path_of((uint32_t)getpid(), "page faults")), 3);
	assert_int_equal(read_last("eBPF/page faults"), 10);
}

/* The kernel may count some when the process is reaped already. */
FIXTURE_TEST(the_last_counts_of_a_process_that_is_gone)
{
	pid_t child = fork();
	struct process_sum *sum;
	uint32_t pid;
	uint64_t *v;

	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	rig_start(&faults_family);
	pid = (uint32_t)child;
	v = add_element(1, pid, 0);
	v[0] = 7;
	rig_read();
	HASH_FIND(hh, rig.run.processes->sums.all, &pid, sizeof(pid), sum);
	for (int i = 0; i < 11 && !sum->is_gone; i++)
		rig_read();
	assert_true(sum->is_gone);
	v[0] = 9;
	rig_read();
	assert_int_equal(read_last(path_of(pid, "page faults")), 9);
}

/* After some were freed a key may be found no more, and has a second place. */
FIXTURE_TEST(a_key_in_two_places)
{
	const uint32_t pid = (uint32_t)getpid();

	rig_start(&faults_family);
	add_element(0, pid, 0)[0] = 4;
	rig_read();
	add_element(0, pid, 0)[0] = 2;
	rig_read();
	assert_int_equal(read_last(path_of(pid, "page faults")), 6);
}

FIXTURE_TEST(elements_without_room_are_reported)
{
	rig_start(&faults_family);
	*(uint64_t *)fake_value("lost", 0) = 3;
	*(uint64_t *)fake_value("lost", 2) = 4;
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last("eBPF/page faults lost"), 7);
}

/* Spans that go on have their time until now. */
FIXTURE_TEST(threads_that_are_in_a_state_still)
{
	const uint32_t pid = (uint32_t)getpid();
	uint64_t now = clock_boot_ns(), *v;
	int64_t ns;

	rig_start(&cpu_time_family);
	v = add_element(0, pid, 0);
	v[0] = (1ull << SONDA_SPAN_BITS) | ((0 - (now - 5000000)) & SONDA_SPAN_SUM);
	rig_read();
	ns = read_last(path_of(pid, "CPU time"));
	assert_true(ns >= 5000000);
	rig_read();
	assert_true(read_last(path_of(pid, "CPU time")) > ns);
}

/* ---- spans, which may begin on one CPU and end on another ---- */

#define LONG_AGO 300000000000000 /* ns: more than 48 bits hold */

static int64_t now; /* of the clock, since LONG_AGO; 0: the real one */

/* Takes the place of clock_gettime(2). */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const int64_t ns = LONG_AGO + now;

	if (clock != CLOCK_BOOTTIME || !now)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	*ret = (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
	return 0;
}

/* What the kernel's side does when a span begins (1) or ends (-1). */
static void mark(uint64_t *word, int number, int64_t at)
{
	*word = ((*word & ~SONDA_SPAN_SUM) + ((uint64_t)number << SONDA_SPAN_BITS)) |
		((*word - (uint64_t)(number * (LONG_AGO + at))) & SONDA_SPAN_SUM);
}

static int64_t read_cpu_time_at(int64_t at)
{
	const char *path = path_of((uint32_t)getpid(), "CPU time");

	now = at;
	rig_read();
	now = 0;
	return read_find(path) ? read_last(path) : 0;
}

FIXTURE_TEST(time_in_spans)
{
	static const struct {
		const char *name;
		unsigned n_cpus; /* of a machine that begins; 0: it goes on */
		struct {
			int element, number;
			int64_t at;
		} marks[3]; /* since the last row, up to number 0 */
		int64_t now, want;
	} rows[] = {
		{"one that is open counts until now", 4, {{0, 1, 1000}}, 1500, 500},
		{"and a second one", 0, {{0, 1, 2000}}, 2100, 1200},
		{"both have ended", 0, {{0, -1, 2200}, {0, -1, 2300}}, 9000, 1500},
		{"nothing is added later", 0, {{0}}, 10000, 1500},
		{"it begins on one CPU", 4, {{0, 1, 1000}}, 1100, 100},
		{"it has ended on another one", 0, {{1, -1, 1300}}, 2000, 300},
		{"and the other way round", 0, {{1, 1, 2100}, {0, -1, 2400}}, 3000, 600},
		{"it began after the time of the read", 4, {{0, 1, 1000}}, 990, 0},
		{"it counts from then on", 0, {{0}}, 1500, 500},
		{"the sum does not fall", 0, {{0}}, 1490, 500},
		{"it grows again", 0, {{0}}, 1600, 600},
		{"one CPU", 1, {{0, 1, 1}}, 1000, 999},
		{"no longer than it had time: the other thread's span was read late",
		 0,
		 {{0, -1, 2000}, {1, 1, 2000}, {1, -1, 2500}},
		 2000,
		 1999},
		{"the rest comes with the next read", 0, {{0}}, 3000, 2499},
	};
	const uint32_t pid = (uint32_t)getpid();
	uint64_t *words[2] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t have;

		if (rows[i].n_cpus) {
			if (i) {
				rig_end(NULL);
				assert_int_equal(rig_setup(NULL), 0);
			}
			fake_bpf_reset(rows[i].n_cpus);
			rig.run.n_cpus = rows[i].n_cpus;
			rig_start(&cpu_time_family);
			words[0] = add_element(0, pid, 0);
			words[1] = add_element(rows[i].n_cpus > 1, pid, 0);
		}
		for (size_t k = 0; k < 3 && rows[i].marks[k].number; k++)
			mark(words[rows[i].marks[k].element], rows[i].marks[k].number,
			     rows[i].marks[k].at);
		have = read_cpu_time_at(rows[i].now);
		if (have != rows[i].want)
			fail_msg("%s: %lld", rows[i].name, (long long)have);
	}
}

/* A thread that sleeps on one CPU and is woken by others, more often than a number of 16 bits
 * holds. */
FIXTURE_TEST(more_spans_than_their_number_holds)
{
	uint64_t *words[3];

	rig_start(&cpu_time_family);
	for (uint32_t cpu = 0; cpu < 3; cpu++)
		words[cpu] = add_element(cpu, (uint32_t)getpid(), 0);
	for (int i = 0; i < 40000; i++) {
		mark(words[0], 1, i);
		mark(words[1 + i % 2], -1, i + 1);
	}
	assert_int_equal(read_cpu_time_at(1000000), 40000);
}

/* ---- system calls by name ---- */

/* Adds calls of 10 ns each. */
static uint64_t *add_calls(uint32_t cpu, uint32_t pid, uint32_t what, uint64_t n, uint64_t errors)
{
	uint64_t *values = add_element(cpu, pid, what);

	values[0] = n;
	values[1] = 10 * n;
	values[2] = errors;
	return values;
}

#define CALL(name) path_of(pid, "syscalls by name/" name)

FIXTURE_TEST(calls_have_names_and_elements_add_up)
{
	const uint32_t pid = (uint32_t)getpid();

	rig_start(&syscalls_family);
	add_calls(0, pid, SYS_getppid, 3, 0);
	add_calls(2, pid, SYS_getppid, 4, 1);
	add_calls(2, pid, 5000, 9, 0);
	add_calls(0, pid, SYSCALLS_NONE, 1, 0);
	assert_int_equal(rig_read(), 0);
	assert_int_equal(read_last(path_of(pid, "syscalls")), 17);
	assert_int_equal(read_last(CALL("getppid")), 7);
	assert_int_equal(read_last(CALL("getppid time")), 70);
	assert_int_equal(read_last(CALL("getppid errors")), 1);
	assert_int_equal(read_last(CALL("call 5000")), 9);
	assert_null(read_find(CALL("call 5000 errors")));
	assert_int_equal(read_last(CALL("no call")), 1);
	ebpf_run_remove_tracks(&rig.run);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, 1);
}

#ifdef __x86_64__
FIXTURE_TEST(calls_of_the_compat_table_are_distinguished)
{
	const uint32_t pid = (uint32_t)getpid();

	rig_start(&syscalls_family);
	add_calls(0, pid, 3, 5, 0);
	add_calls(0, pid, 3 | SYSCALLS_COMPAT, 6, 0);
	rig_read();
	assert_int_equal(read_last(CALL("close")), 5);
	assert_int_equal(read_last(CALL("read (32-bit)")), 6);
}
#endif

FIXTURE_TEST(the_five_calls_that_are_made_most)
{
	const uint32_t pid = (uint32_t)getpid();
	uint64_t *first;
	size_t n;

	rig_start(&syscalls_family);
	first = add_calls(0, pid, 5001, 1, 0);
	for (uint32_t i = 2; i <= 6; i++)
		add_calls(0, pid, 5000 + i, i, 0);
	rig_read();
	n = tracks_counts(rig.run.tracks).tracks;
	assert_null(read_find(CALL("call 5001")));
	assert_int_equal(read_last(CALL("call 5002")), 2);
	first[0] = 9;
	rig_read();
	assert_int_equal(read_last(CALL("call 5001")), 9);
	assert_int_equal(read_last(CALL("call 5002")), 2);
	assert_int_equal(tracks_counts(rig.run.tracks).tracks, n);
}

FIXTURE_TEST(calls_of_processes_that_have_tracks)
{
	const uint32_t pid = (uint32_t)getpid(), other = (uint32_t)getppid();
	uint64_t *grows;

	rig.run.top_n = 1;
	rig_start(&syscalls_family);
	add_calls(0, pid, 5001, 10, 1);
	grows = add_calls(1, other, 5001, 1, 1);
	rig_read();
	assert_non_null(read_find(CALL("call 5001")));
	assert_null(read_find(path_of(other, "syscalls by name/call 5001")));
	grows[0] = 9;
	rig_read();
	assert_int_equal(read_last(path_of(other, "syscalls by name/call 5001")), 9);
}

/* ---- room ---- */

/* Each CPU has as many, a power of two, and all together no more than there may be. */
FIXTURE_TEST(room_for_cpus)
{
	rig_start(&futex_family);
	assert_int_equal(rig.run.processes->n_each, 2048);
	assert_int_equal(fake_map("processes")->max_entries, RIG_CPUS * 2048);
	assert_int_equal(fake_map("process_keys")->max_entries,
			 RIG_CPUS * 2048 / SONDA_PROCESS_WAYS);
	ebpf_run_stop(&rig.run);
	rig.run.n_cpus = 1;
	rig_start(&futex_family);
	assert_int_equal(rig.run.processes->n_each, PROCESSES_MIN);
	ebpf_run_stop(&rig.run);
	rig.run.n_cpus = 64;
	rig_start(&syscalls_family);
	assert_int_equal(rig.run.processes->n_each * 64, PROCESSES_MAX_ELEMENTS);
}

/* Where faults have no hooks they are counted when a thread is switched out. */
FIXTURE_TEST(faults_by_hooks_or_at_switches)
{
	if (rig.real.count_args(rig.real.ctx, "page_fault_user") != 3)
		skip();
	rig.no_tracefs = true;
	rig.tracepoint = "page_fault_user";
	rig.args = 3;
	rig_start(&faults_family);
	assert_int_equal(fake_count_programs("on_fault_user"), 1);
	assert_int_equal(fake_count_programs("on_switch"), 0);
	rig_stop_and_forget();
	rig.args = -ENOENT;
	rig_start(&faults_family);
	assert_int_equal(fake_count_programs("on_fault_user"), 0);
	assert_int_equal(fake_count_programs("on_switch"), 1);
}

/* A kernel without BTF does not show which faults are major. */
FIXTURE_TEST(below_types_there_are_fewer_columns)
{
	const uint32_t pid = (uint32_t)getpid();

	rig_need_tracefs();
	if (rig.real.count_args(rig.real.ctx, "page_fault_user") != 3)
		skip();
	rig.no_btf = true;
	rig_start(&faults_family);
	assert_string_equal(rig.run.variant->name, "raw_tp");
	add_element(0, pid, 0)[0] = 4;
	rig_read();
	assert_int_equal(read_last(path_of(pid, "page faults")), 4);
	assert_null(read_find(path_of(pid, "major page faults")));
}

/* ---- rows ---- */

static struct process_ends ends;

static void start_with_rows(const struct ebpf_family *f)
{
	ends = (struct process_ends){0};
	assert_int_equal(pid_set_reserve(&ends.pids), 0);
	rig.run.process_rows = true;
	rig.run.ends = &ends;
	rig_start(f);
}

/* A thread of the process runs since then. */
#define RUNS_SINCE(ns) ((1ull << SONDA_SPAN_BITS) | ((0 - (ns)) & SONDA_SPAN_SUM))

FIXTURE_TEST(a_process_without_spans_in_a_period_has_ended)
{
	const uint32_t living = (uint32_t)getpid(), ended = living + 1;
	uint64_t *a, *b;

	start_with_rows(&cpu_time_family);
	a = add_element(0, living, 0);
	b = add_element(1, ended, 0);
	a[0] = RUNS_SINCE(clock_boot_ns());
	b[0] = 1000;
	rig_read();
	assert_false(pid_set_has(&ends.pids, (int32_t)ended));
	rig_read();
	assert_true(pid_set_has(&ends.pids, (int32_t)ended));
	assert_false(pid_set_has(&ends.pids, (int32_t)living));
	rig_read();
	rig_read();
	assert_int_equal(count_elements(), 1);
	assert_int_equal(b[0], 0);
	assert_true(a[0] != 0);
	/* Rows instead of tracks. */
	assert_null(read_find(path_of(living, "CPU time")));
	pid_set_clear(&ends.pids);
}

FIXTURE_TEST(other_families_learn_which_processes_have_ended)
{
	const uint32_t pid = (uint32_t)getpid();

	start_with_rows(&faults_family);
	add_element(0, pid, 0)[0] = 5;
	ends.is_known = true;
	for (int i = 0; i < 4; i++)
		rig_read();
	assert_int_equal(count_elements(), 1);
	pid_set_add(&ends.pids, (int32_t)pid);
	for (int i = 0; i < 4; i++)
		rig_read();
	assert_int_equal(count_elements(), 0);
	pid_set_clear(&ends.pids);
}

/* An element that was emptied counts again, of a late end or of the next process with its pid. */
FIXTURE_TEST(an_element_in_use_again_is_not_freed)
{
	const uint32_t pid = (uint32_t)getpid();
	struct process_sum *sum;
	uint64_t *v;

	start_with_rows(&faults_family);
	v = add_element(0, pid, 0);
	v[0] = 5;
	ends.is_known = true;
	rig_read();
	pid_set_add(&ends.pids, (int32_t)pid);
	for (int i = 0; i < 3 && v[0]; i++)
		rig_read();
	assert_int_equal(v[0], 0);
	pid_set_remove(&ends.pids, (int32_t)pid);
	v[0] = 2;
	rig_read();
	assert_int_equal(count_elements(), 1);
	HASH_FIND(hh, rig.run.processes->sums.all, &(uint32_t){pid}, sizeof(pid), sum);
	assert_int_equal(sum->totals[0], 7);
	pid_set_clear(&ends.pids);
}
