/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/procfs/machine_lines.h"
#include "unit/procfs/sys_rig.h"

/* Every source on the files of whole machines, every value. */

static void check(const char *machine)
{
	static char proc[256], sys[256];
	size_t len;
	char *all = NULL;
	FILE *out = open_memstream(&all, &len);

	snprintf(proc, sizeof(proc), MACHINES "%s/proc", machine);
	snprintf(sys, sizeof(sys), MACHINES "%s/sys", machine);
	poll_state.proc_root = proc;
	poll_state.sys_root = sys;
	for (const struct sys_source *const *s = sys_sources; *s; s++) {
		rig_poll(*s);
		fputs(said, out);
	}
	fclose(out);
	/* What the machine does not have is told, and checked elsewhere. */
	machine_check(all, machine, "expected", "failed ", 100);
	free(all);
}

static void a_small_virtual_machine(void **state)
{
	(void)state;
	check("vm");
}

static void a_server_with_128_cpus(void **state)
{
	(void)state;
	check("server");
}

static void a_board_in_the_cold(void **state)
{
	(void)state;
	check("board");
}

static void linux_4_19(void **state)
{
	(void)state;
	check("old");
}

/* Each pass gives the same as the first, and it takes no more memory and no more descriptors. */
static void many_polls_cost_what_one_does(void **state)
{
	(void)state;
	poll_state.proc_root = MACHINES "board/proc";
	poll_state.sys_root = MACHINES "board/sys";
	for (const struct sys_source *const *s = sys_sources; *s; s++) {
		void *source = rig_open(*s);
		char *first;
		unsigned fds;
		size_t cap;

		rig_passes(*s, source, 1);
		first = strdup(said);
		rig_passes(*s, source, 1);
		fds = poll_state.fds;
		cap = poll_state.text.cap;
		for (int i = 0; i < 50; i++)
			rig_passes(*s, source, 1);
		if (!strstr(first, "failed "))
			assert_string_equal(said, first);
		assert_int_equal(poll_state.fds, fds);
		assert_int_equal(poll_state.text.cap, cap);
		rig_close(*s, source);
		free(first);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_small_virtual_machine, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_server_with_128_cpus, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_board_in_the_cold, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(linux_4_19, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(many_polls_cost_what_one_does, rig_setup,
						rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
