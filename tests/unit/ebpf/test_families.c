/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which programs of a family a kernel gets, for kernels that are not this one: some of its facts are
 * told otherwise. Where we may load programs, what was chosen is loaded too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/read_tracks.h"
#include "ebpf/family.h"

#define TRACEFS "/sys/kernel/tracing"

static struct ebpf_facts real, told;
static struct {
	bool no_btf;
	const char *tracepoint; /* has so many arguments, or is not there (-ENOENT) */
	int args;
} kernel;

static int count_args(void *ctx, const char *tracepoint)
{
	(void)ctx;
	if (kernel.no_btf)
		return -EOPNOTSUPP;
	if (kernel.tracepoint && !strcmp(tracepoint, kernel.tracepoint))
		return kernel.args;
	return real.count_args(real.ctx, tracepoint);
}

static int setup(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	if (ebpf_facts_new(TRACEFS, &real) < 0)
		return -1;
	told = real;
	told.count_args = count_args;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ebpf_facts_free(&real);
	return 0;
}

static void need_a_kernel_with_btf(void)
{
	if (real.count_args(real.ctx, "sched_switch") < 0 ||
	    real.field_offset(real.ctx, "irq/softirq_entry", "vec") < 0)
		skip();
}

static struct err_text why;

/* The name of the rung, or NULL and why. */
static const char *rung_of(Pb__EbpfCountersConfig__Family id)
{
	const struct ebpf_family *f = ebpf_family_find(id);
	int i;

	assert_non_null(f);
	why.text[0] = '\0';
	i = ebpf_choose_rung(&told, f->rungs, f->n_rungs, 0, &why);
	return i < 0 ? NULL : f->rungs[i].name;
}

static const Pb__EbpfCountersConfig__Family without_structs[] = {
	PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS,
	PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP,
	PB__EBPF_COUNTERS_CONFIG__FAMILY__MEMORY,
};

static void with_btf_the_first_rung(void **state)
{
	(void)state;
	need_a_kernel_with_btf();
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(rung_of(without_structs[i]), "tp_btf");
	assert_string_equal(rung_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), "tp_btf");
}

static void without_btf_raw_tracepoints(void **state)
{
	(void)state;
	need_a_kernel_with_btf();
	kernel.no_btf = true;
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(rung_of(without_structs[i]), "raw_tp");
	assert_null(rung_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK));
	assert_non_null(strstr(why.text, "no BTF"));
}

static void old_and_unknown_arguments(void **state)
{
	(void)state;
	need_a_kernel_with_btf();
	kernel.tracepoint = "block_rq_issue";
	kernel.args = 2;
	assert_string_equal(rung_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), "tp_btf");
	kernel.args = 3;
	assert_null(rung_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK));
	assert_non_null(strstr(why.text, "block_rq_issue has 3 arguments"));
	kernel.tracepoint = "contention_begin";
	kernel.args = -ENOENT;
	assert_null(rung_of(PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS));
	assert_non_null(strstr(why.text, "contention_begin"));
}

/* ---- loaded ---- */

static struct writer *w;
static struct ebpf_run run;

/* Starts a family by what is told, reads it once, and stops it: 0 or -errno. */
static int try(Pb__EbpfCountersConfig__Family id)
{
	const struct ebpf_scope scope = {.own_pid = (uint32_t)getpid()};
	int r;

	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
	run = (struct ebpf_run){.family = ebpf_family_find(id),
				.n_cpus = ebpf_cpus(),
				.top_n = 4,
				.proc_root = "/proc"};
	assert_int_equal(tracks_new("test", w, &run.tracks), 0);
	why.text[0] = '\0';
	r = ebpf_run_start(&run, &told, &scope, &why);
	if (r == 0) {
		tracks_begin(run.tracks, 1);
		r = ebpf_run_read(&run);
		ebpf_run_hide(&run);
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

static void need_permission(void)
{
	if (try(PB__EBPF_COUNTERS_CONFIG__FAMILY__TCP) == -EPERM)
		skip();
}

static void raw_tracepoints_load(void **state)
{
	(void)state;
	need_a_kernel_with_btf();
	need_permission();
	kernel.no_btf = true;
	for (size_t i = 0; i < 3; i++) {
		int r = try(without_structs[i]);

		if (r)
			fail_msg("%d: %s", without_structs[i], why.text);
		assert_string_equal(run.rung->name, "raw_tp");
	}
}

static void every_family_begins_and_ends(void **state)
{
	(void)state;
	need_a_kernel_with_btf();
	need_permission();
	for (size_t i = 0; i < ebpf_n_families; i++)
		if (rung_of(ebpf_families[i]->id) && try(ebpf_families[i]->id) != 0)
			fail_msg("%s: %s", ebpf_families[i]->name, why.text);
}

static void what_the_verifier_refuses_is_told(void **state)
{
	(void)state;
	need_a_kernel_with_btf();
	need_permission();
	kernel.tracepoint = "block_rq_issue";
	kernel.args = 3 - real.count_args(real.ctx, "block_rq_issue"); /* 1 for 2 */
	assert_int_not_equal(try(PB__EBPF_COUNTERS_CONFIG__FAMILY__BLOCK), 0);
	assert_non_null(strstr(why.text, "block"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(with_btf_the_first_rung, setup, teardown),
		cmocka_unit_test_setup_teardown(without_btf_raw_tracepoints, setup, teardown),
		cmocka_unit_test_setup_teardown(old_and_unknown_arguments, setup, teardown),
		cmocka_unit_test_setup_teardown(raw_tracepoints_load, setup, teardown),
		cmocka_unit_test_setup_teardown(every_family_begins_and_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_verifier_refuses_is_told, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
