/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/object.c"
#include "unit/test.h"

static struct libbpf_log words;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	libbpf_log_add(&words, fmt, args);
	va_end(args);
}

static int setup(void **state)
{
	words = (struct libbpf_log){.error = {0}};
	return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, NULL)

FIXTURE_TEST(the_first_line_without_its_prefix)
{
	assert_string_equal(libbpf_log_line(&words), "");
	say("libbpf: map '%s': failed to create: Operation not permitted(-1)\n", "cpus");
	say("libbpf: failed to load object '%s'\n", "runq");
	assert_string_equal(libbpf_log_line(&words),
			    "map 'cpus': failed to create: Operation not permitted(-1)");
}

FIXTURE_TEST(of_the_verifier_its_last_word)
{
	say("libbpf: prog 'on_switch': BPF program load failed: Permission denied\n");
	say("libbpf: prog 'on_switch': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
	    "0: R1=ctx(off=0,imm=0)\n1: (79) r6 = *(u64 *)(r1 +24)\n"
	    "func 'sched_switch' doesn't have 4-th argument\n"
	    "invalid bpf_context access off=24 size=8\n"
	    "old state: R0=1\n"
	    "processed 2 insns (limit 1000000) max_states_per_insn 0\n");
	assert_string_equal(libbpf_log_line(&words), "invalid bpf_context access off=24 size=8");
}

FIXTURE_TEST(a_helper_of_newer_kernels)
{
	say("libbpf: prog 'on_exit': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
	    "4: (85) call unknown#158\n"
	    "invalid func unknown#158\n"
	    "processed 4 insns (limit 1000000) max_states_per_insn 0\n");
	assert_string_equal(libbpf_log_line(&words), "the kernel has no BPF helper 158");
}

FIXTURE_TEST(nothing_that_a_terminal_obeys)
{
	say("libbpf: \033[2J");
	assert_string_equal(libbpf_log_line(&words), "?[2J");
}
