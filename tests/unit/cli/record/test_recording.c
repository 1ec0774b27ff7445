/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/cli/recording_child.h"
#include "unit/test.h"

/* ---- progress ---- */

static void make_instance(const char *name)
{
	char command[512];

	snprintf(command, sizeof(command),
		 "mkdir -p %s/instances/%s/per_cpu/cpu0 && printf 'entries: 331\\noverrun: 4000\\n"
		 "commit overrun: 0\\ndropped events: 0\\nread events: 1200000\\n' "
		 ">%s/instances/%s/per_cpu/cpu0/stats",
		 dir, name, dir, name);
	assert_int_equal(system(command), 0);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_progress_shows_what_the_rings_count)
{
	make_instance("sonda-4711-12");
	service.probes_pid = 4711;
	service.session_id = 12;
	start(true);
	assert_true(wait_until_printed("recording; Ctrl-C stops and saves"));
	assert_true(wait_until_printed("s   1,204,331 events"));
	assert_true(wait_until_printed("   20.4 MiB   buffers "));
	assert_true(wait_until_printed("%   4,000 lost"));
	kill(child, SIGINT);
	assert_int_equal(finish(), 0);
	/* The line is gone before the last word. */
	assert_non_null(strstr(printed, "\r\033[Ksonda: 2 packets"));
}

FIXTURE_TEST(test_progress_without_an_instance)
{
	config->has_duration_ms = true;
	config->duration_ms = 90000;
	start(true);
	assert_true(wait_until_printed(" s of 90 s   20.4 MiB"));
	assert_null(strstr(printed, "events"));
	assert_null(strstr(printed, "Ctrl-C"));
	kill(child, SIGTERM);
	assert_int_equal(finish(), 0);
}

FIXTURE_TEST(test_no_progress_in_a_pipe)
{
	service.end_when_started = true;
	start(false);
	assert_int_equal(finish(), 0);
	assert_string_equal(printed, "sonda: 2 packets\n");
}

/* ---- signals ---- */

FIXTURE_TEST(test_a_signal_while_saving_warns_first)
{
	service.end_when_started = true;
	service.silent = "ReadBuffers";
	start(true);
	assert_true(wait_until_printed("saving"));
	kill(child, SIGINT);
	assert_true(wait_until_printed("press Ctrl-C again to discard it"));
	kill(child, SIGINT);
	assert_int_equal(finish(), 1);
	assert_non_null(strstr(printed, "aborted"));
}

/* ---- early warnings ---- */

FIXTURE_TEST(test_a_recording_warns_at_its_beginning)
{
	const char *names[] = {"sched/sched_switch"};

	use_config("data_sources { config { name: 'linux.ftrace' "
		   "ftrace_config { ftrace_events: 'sched/sched_swich' } } }");
	events.names = names;
	events.n = 1;
	service.end_when_started = true;
	start(false);
	assert_int_equal(finish(), 0);
	assert_non_null(
		strstr(printed, "no producer provides the data source 'linux.ftrace' yet\n"));
	assert_non_null(strstr(printed, "did you mean sched/sched_switch?\n"));
	/* A short one does, too: who sees it then may still stop it. */
	printed[0] = '\0';
	ended = false;
	config->has_duration_ms = true;
	config->duration_ms = 1000;
	start(false);
	assert_int_equal(finish(), 0);
	assert_non_null(strstr(printed, "did you mean sched/sched_switch?\n"));
}

/* ---- no service runs ---- */

static void write_program(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	fprintf(f, "#!/bin/bash\n%s", text);
	fclose(f);
	chmod(path, 0700);
}

static struct event *start_alone(void)
{
	char *old = strdup(getenv("PATH")), path[1024];

	write_program("sonda-probes", "");
	snprintf(path, sizeof(path), "%s:%s", dir, old);
	setenv("PATH", path, 1);
	setenv("TMPDIR", dir, 1);
	strcpy(service.port.address, "/nonexistent/consumer");
	start(false);
	unsetenv("TMPDIR");
	setenv("PATH", old, 1);
	free(old);
	return output;
}

FIXTURE_TEST(test_daemons_of_its_own_that_fail)
{
	char address[96];

	strcpy(address, service.port.address);
	write_program("sondad", "echo '<4>sondad: careful' >&2; echo '<3>sondad: no luck' >&2; "
				"exit 1\n");
	output = start_alone();
	assert_int_equal(finish(), 1);
	assert_string_equal(printed, "sondad: careful\nsondad: no luck\n"
				     "sonda: sondad exited with code 1: sondad: no luck\n");
	strcpy(service.port.address, address);
}

FIXTURE_TEST(test_a_signal_while_daemons_start)
{
	char address[96];

	strcpy(address, service.port.address);
	write_program("sondad", "echo 'here I am' >&2; exec sleep 100\n");
	output = start_alone();
	assert_true(wait_until_printed("here I am"));
	kill(child, SIGINT);
	assert_int_equal(finish(), 1);
	assert_non_null(strstr(printed, "aborted"));
	strcpy(service.port.address, address);
}
