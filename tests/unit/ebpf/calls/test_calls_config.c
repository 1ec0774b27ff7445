/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/core/mem.h"
#include "ebpf/calls/calls_config.h"
#include "unit/test.h"

/* Returns the config, which the caller frees; NULL if it is refused. */
static struct calls_config *read_calls(const Pb__SyscallsConfig *m, uint32_t consumer,
				       struct err_text *e)
{
	struct calls_config *c = calloc(1, sizeof(*c));

	*e = (struct err_text){""};
	if (calls_config_read(m, consumer, c, e) == 0)
		return c;
	calls_config_deinit(c);
	free(c);
	return NULL;
}

static void free_calls(struct calls_config *c)
{
	calls_config_deinit(c);
	free(c);
}

TEST(without_a_config_all_calls_are_wanted)
{
	struct err_text e;
	struct calls_config *c = read_calls(NULL, 0, &e);

	for (size_t i = 0; i < CALLS_SPECS; i++)
		assert_true(c->specs[i].is_wanted);
	assert_int_equal(c->specs[SYS_openat].memory[1], CALL_STRING);
	assert_int_equal(c->specs[SYS_openat].reads, CALL_READS | CALL_OPENS);
	assert_int_equal(c->specs[SYS_execve].reads, CALL_READS | CALL_EXECS);
	assert_int_equal(c->specs[SYS_execve].memory[1], CALL_STRINGS);
	assert_int_equal(c->specs[SYS_read].reads, 0);
	assert_int_equal(c->settings.string_max, CALLS_STRING_MAX);
	assert_false(c->of_user);
	free_calls(c);
}

TEST(names_and_classes_select_calls)
{
	char network[] = "%network", open[] = "openat", *calls[] = {network, open};
	Pb__SyscallsConfig m = PB__SYSCALLS_CONFIG__INIT;
	struct calls_config *c;
	struct err_text e;

	m.n_calls = ARRAY_SIZE(calls);
	m.calls = calls;
	c = read_calls(&m, 0, &e);
	assert_true(c->specs[SYS_openat].is_wanted && c->specs[SYS_connect].is_wanted);
	assert_false(c->specs[SYS_read].is_wanted || c->specs[CALLS_OTHER].is_wanted);
	free_calls(c);
	memcpy(open, "opanet", 6);
	assert_null(read_calls(&m, 0, &e));
	assert_non_null(strstr(e.text, "there is no system call 'opanet'"));
}

TEST(a_user_has_the_calls_of_its_own_processes_whatever_the_config_says)
{
	Pb__SyscallsConfig m = PB__SYSCALLS_CONFIG__INIT;
	struct calls_config *c;
	struct err_text e;

	c = read_calls(&m, 4242, &e);
	assert_true(c->of_user);
	assert_int_equal(c->settings.uid, 4242);
	free_calls(c);
	m.has_uid = true;
	m.uid = 0;
	assert_null(read_calls(&m, 4242, &e));
	m.uid = 4243;
	assert_null(read_calls(&m, 4242, &e));
	c = read_calls(&m, 0, &e);
	assert_true(c->of_user);
	assert_int_equal(c->settings.uid, 4243);
	free_calls(c);
	assert_null(read_calls(NULL, UINT32_MAX, &e));
}

TEST(lengths_and_names_have_limits)
{
	char longer[] = "sixteen-letters!", *names[] = {longer};
	Pb__SyscallsConfig m = PB__SYSCALLS_CONFIG__INIT;
	struct calls_config *c;
	struct err_text e;

	m.has_max_string_bytes = true;
	m.max_string_bytes = 1000000;
	c = read_calls(&m, 0, &e);
	assert_int_equal(c->settings.string_max, CALLS_STRING_MAX);
	free_calls(c);
	m.n_programs = 1;
	m.programs = names;
	assert_null(read_calls(&m, 0, &e));
}
