/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/machine_lines.h"
#include "unit/procfs/sys_rig.h"

/* Every value of every table on the files of whole machines. */

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
	/* What the machine lacks is a failure, and not checked here. */
	machine_check(all, machine, "expected", "failed ", 100);
	free(all);
}

FIXTURE_TEST(a_small_virtual_machine)
{
	check("vm");
}

FIXTURE_TEST(a_server_with_128_cpus)
{
	check("server");
}

FIXTURE_TEST(a_board_in_the_cold)
{
	check("board");
}

FIXTURE_TEST(linux_4_19)
{
	check("old");
}

/* Each pass gives the same as the first, and it takes no more memory and no more descriptors. */
FIXTURE_TEST(many_polls_cost_what_one_does)
{
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
