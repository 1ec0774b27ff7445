/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "config/text.h"
#include "unit/cli/fake_session.h"
#include "unit/test.h"

/*
 * A verb as a user calls it, in a child process and a directory of its own, against a service in
 * this process: its exit code, what it prints, and the files that it leaves.
 */

static char dir[64]; /* where the child works */
static struct event_base *loop;
static struct fake_session service;
static struct strbuf out, err; /* what the child printed */
static pid_t child;
static int status;
static rlim_t file_limit; /* of the child; 0: none */
static void (*while_it_runs)(void); /* called every 10 ms; may be NULL */

static inline int verb_setup(void **state)
{
	strcpy(dir, "/tmp/test-verb-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	loop = event_base_new();
	memset(&service, 0, sizeof(service));
	fake_session_open(&service, loop);
	file_limit = 0;
	while_it_runs = NULL;
	return 0;
}

static inline int verb_teardown(void **state)
{
	char command[128];

	fake_port_close(&service.port);
	event_base_free(loop);
	strbuf_deinit(&out);
	strbuf_deinit(&err);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

#define VERB_TEST(name) TEST_WITH(name, verb_setup, verb_teardown)

extern void __gcov_dump(void) __attribute__((weak));

/* The child: the words of the line are its arguments, without quotes. */
static inline void verb_run_child(int (*verb)(int argc, char **argv), const char *line)
{
	static char buf[1024], *argv[64];
	int argc = 0;

	if (chdir(dir))
		_exit(99);
	dup2(open("err", O_CREAT | O_TRUNC | O_WRONLY, 0600), STDERR_FILENO);
	dup2(open("out", O_CREAT | O_TRUNC | O_WRONLY, 0600), STDOUT_FILENO);
	if (file_limit)
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){file_limit, file_limit});
	setenv("PERFETTO_CONSUMER_SOCK_NAME", service.port.address, 1);
	unsetenv("SUDO_UID");
	log_init("sonda");
	snprintf(buf, sizeof(buf), "%s", line);
	for (char *p = strtok(buf, " "); p; p = strtok(NULL, " "))
		argv[argc++] = p;
	optind = 0;
	status = verb(argc, argv);
	fflush(NULL);
	if (__gcov_dump)
		__gcov_dump(); /* counts what the child has executed */
	_exit(status); /* the loop and the service are the parent's to free */
}

static inline void verb_look_at_child(evutil_socket_t fd, short what, void *ctx)
{
	if (while_it_runs)
		while_it_runs();
	if (waitpid(child, &status, WNOHANG) == child)
		event_base_loopbreak(loop);
}

/* Reads a file of the directory and removes it. */
static inline void verb_take_file(const char *name, struct strbuf *ret)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	strbuf_clear(ret);
	fs_read_file(path, 1 << 20, ret);
	if (!ret->s)
		strbuf_puts(ret, "");
	unlink(path);
}

static inline void verb_write_file(const char *name, const char *data, size_t len)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
}

/* Runs `LINE`, whose first word is the name of the verb, to its end. Returns the exit code. */
static inline int verb_run(int (*verb)(int argc, char **argv), const char *line)
{
	static const struct timeval often = {0, 10000};
	struct event *tick = event_new(loop, -1, EV_PERSIST, verb_look_at_child, NULL);

	fflush(stdout);
	child = fork();
	if (child == 0)
		verb_run_child(verb, line);
	event_add(tick, &often);
	event_base_dispatch(loop);
	event_free(tick);
	verb_take_file("err", &err);
	verb_take_file("out", &out);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Returns true if the child's messages have the words; else prints them. */
static inline bool says(const char *words)
{
	if (!strstr(err.s, words))
		print_message("printed: %s", err.s);
	return strstr(err.s, words);
}

/* The config of an EnableTracing as text; free(). */
static inline char *config_text(const uint8_t *args, size_t len)
{
	Pb__EnableTracingRequest *m = pb__enable_tracing_request__unpack(NULL, len, args);
	struct strbuf text = {0};

	text_print(&m->trace_config->base, &text);
	pb__enable_tracing_request__free_unpacked(m, NULL);
	return strbuf_take(&text);
}
