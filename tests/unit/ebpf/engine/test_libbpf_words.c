/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ebpf/engine/object.c"

static struct libbpf_words words;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	libbpf_words_add(&words, fmt, args);
	va_end(args);
}

static int setup(void **state)
{
	(void)state;
	words = (struct libbpf_words){.error = {0}};
	return 0;
}

static void the_first_line_without_its_prefix(void **state)
{
	(void)state;
	assert_string_equal(libbpf_words_best(&words), "");
	say("libbpf: map '%s': failed to create: Operation not permitted(-1)\n", "cpus");
	say("libbpf: failed to load object '%s'\n", "runq");
	assert_string_equal(libbpf_words_best(&words),
			    "map 'cpus': failed to create: Operation not permitted(-1)");
}

static void of_the_verifier_its_last_word(void **state)
{
	(void)state;
	say("libbpf: prog 'on_switch': BPF program load failed: Permission denied\n");
	say("libbpf: prog 'on_switch': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
	    "0: R1=ctx(off=0,imm=0)\n1: (79) r6 = *(u64 *)(r1 +24)\n"
	    "func 'sched_switch' doesn't have 4-th argument\n"
	    "invalid bpf_context access off=24 size=8\n"
	    "old state: R0=1\n"
	    "processed 2 insns (limit 1000000) max_states_per_insn 0\n");
	assert_string_equal(libbpf_words_best(&words), "invalid bpf_context access off=24 size=8");
}

static void a_helper_of_newer_kernels(void **state)
{
	(void)state;
	say("libbpf: prog 'on_exit': -- BEGIN PROG LOAD LOG --\n%s-- END PROG LOAD LOG --\n",
	    "4: (85) call unknown#158\n"
	    "invalid func unknown#158\n"
	    "processed 4 insns (limit 1000000) max_states_per_insn 0\n");
	assert_string_equal(libbpf_words_best(&words), "the kernel has no BPF helper 158");
}

static void nothing_that_a_terminal_obeys(void **state)
{
	(void)state;
	say("libbpf: \033[2J");
	assert_string_equal(libbpf_words_best(&words), "?[2J");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_first_line_without_its_prefix, setup),
		cmocka_unit_test_setup(of_the_verifier_its_last_word, setup),
		cmocka_unit_test_setup(a_helper_of_newer_kernels, setup),
		cmocka_unit_test_setup(nothing_that_a_terminal_obeys, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
