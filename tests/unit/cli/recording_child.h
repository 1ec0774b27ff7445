/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>
#include <pty.h>

#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/record/recording.h"
#include "unit/cli/fake_session.h"
#include "unit/proto_text.h"
#include "unit/test.h"

/*
 * A recording in a child whose stderr is a terminal or a pipe, against a service in this process or
 * against scripts in the place of private daemons.
 */

static char dir[64];
static struct event_base *loop;
static struct fake_session service;
static char printed[8192];
static pid_t child;
static int status;
static bool ended;
static struct event *output; /* of the child */

/* Facts of the recording for the child. */
static Pb__TraceConfig *config;
static char **its_command; /* NULL: there is none */
static struct pid_list pids;
static bool needs_ftrace;
static struct tracefs_events events;

static inline void use_config(const char *text)
{
	pb__trace_config__free_unpacked(config, NULL);
	config = (Pb__TraceConfig *)proto_parse(&pb__trace_config__descriptor, text);
}

/* Stays until the next call. */
static inline const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static inline int setup(void **state)
{
	signal(SIGHUP, SIG_DFL); /* the tests may run under nohup */
	strcpy(dir, "/tmp/test-recording-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	loop = event_base_new();
	memset(&service, 0, sizeof(service));
	fake_session_open(&service, loop);
	use_config("");
	memset(&events, 0, sizeof(events));
	events.root = dir;
	its_command = NULL;
	pids = (struct pid_list){0};
	needs_ftrace = false;
	printed[0] = '\0';
	ended = false;
	return 0;
}

static inline int teardown(void **state)
{
	char command[128];

	fake_port_close(&service.port);
	pb__trace_config__free_unpacked(TAKE_PTR(config), NULL);
	event_base_free(loop);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- the child ---- */

static inline void run_child(int err)
{
	struct recording_setup setup_ = {.config = config, .events = &events, .tracefs_root = dir};
	struct recording_result result = {0};
	struct strbuf end = {0};
	struct console console;
	struct err_text why;
	int error;

	dup2(err, STDERR_FILENO);
	close(err); /* what the command leaves behind shall not keep it open */
	setenv("PERFETTO_CONSUMER_SOCK_NAME", service.port.address, 1);
	log_init("sonda");
	console_init(&console, false);
	setup_.console = &console;
	setup_.pids = &pids;
	setup_.needs_ftrace = needs_ftrace;
	if (its_command && command_child_fork(its_command, &why, &setup_.command))
		_exit(98);
	if (trace_file_open(in_dir("x.pftrace"), &why, &setup_.file))
		_exit(99);
	error = recording_run(&setup_, &result, &why);
	if (error)
		console_error(&console, "%s", why.text);
	else
		console_print(&console, "%llu packets", (unsigned long long)result.scan.packets);
	if (its_command) {
		command_child_describe(setup_.command, &end);
		console_print(&console, "%s", end.s);
	}
	trace_file_free(setup_.file);
	recording_result_deinit(&result);
	_exit(error ? 1 : 0);
}

static inline void on_child_output(evutil_socket_t fd, short what, void *ctx)
{
	size_t n = strlen(printed);
	ssize_t got = read(fd, printed + n, sizeof(printed) - n - 1);

	if (got > 0) {
		printed[n + (size_t)got] = '\0';
		return;
	}
	ended = true;
	event_base_loopbreak(loop);
}

static inline void run_a_moment(void)
{
	static const struct timeval moment = {0, 20000};

	event_base_loopexit(loop, &moment);
	event_base_dispatch(loop);
}

/* Until the words were printed, or the child has ended; at most 20 s. */
static inline bool wait_until_printed(const char *words)
{
	for (int i = 0; i < 1000 && !ended && !(words && strstr(printed, words)); i++)
		run_a_moment();
	return words && strstr(printed, words);
}

static inline void start(bool terminal)
{
	struct winsize w = {.ws_row = 24, .ws_col = 120};
	int p[2];

	if (terminal)
		assert_int_equal(openpty(&p[0], &p[1], NULL, NULL, &w), 0);
	else
		assert_int_equal(pipe(p), 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		close(p[0]);
		run_child(p[1]);
	}
	close(p[1]);
	output = event_new(loop, p[0], EV_READ | EV_PERSIST, on_child_output, NULL);
	event_add(output, NULL);
}

static inline int finish(void)
{
	wait_until_printed(NULL);
	assert_true(ended);
	close(event_get_fd(output));
	event_free(output);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}
