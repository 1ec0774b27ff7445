/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	this process                       child
 *	go     w -------- pipe ----------> r   MAP_FILES: map; an address and a 0 byte: execute; EOF: exit
 *	error  r <------- pipe ----------- w   0: mapped; errno of exec; EOF: executed
 *
 * The second pipe closes itself when exec succeeds. Both close when either process dies.
 */

#include "cli/record/command_child.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "cli/record/command_files.h"

#define MAP_FILES '\1' /* sent in place of an address, which never begins with it: map the files */

enum state { WAITS, RUNS, ENDED };

struct command_child {
	char **argv; /* borrowed from the owner until free */
	pid_t pid;
	enum state state;
	bool ran;
	int status; /* status from waitpid() after its end */
	int go; /* -1 once the child was released */
	int error;
	struct event *child_event; /* SIGCHLD; owned */
	void (*on_end)(void *ctx);
	void *ctx;
};

/* ---- the child's side ---- */

static void command_child_run_child(char **argv, int go, int error)
{
	char address[PATH_MAX];
	ssize_t n;
	int code = 0;

	/* A write of less than PIPE_BUF bytes is atomic. */
	do {
		n = read(go, address, sizeof(address));
		if (n == 1 && address[0] == MAP_FILES) {
			command_files_map(argv[0]);
			n = write(error, &code, sizeof(code)) < 0 ? 0 : -1;
			errno = EINTR;
		}
	} while (n < 0 && errno == EINTR);
	if (n < 1)
		_exit(0); /* the parent does not need the child any more */
	if (address[0])
		setenv("PERFETTO_PRODUCER_SOCK_NAME", address, 1);
	execvp(argv[0], argv);
	code = errno;
	n = write(error, &code, sizeof(code));
	_exit(n < 0 ? 126 : 127);
}

/* ---- our side ---- */

static int open_pipes(int go[static 2], int error[static 2])
{
	int r;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (!pipe2(error, O_CLOEXEC))
		return 0;
	r = -errno;
	close(go[0]);
	close(go[1]);
	return r;
}

static int fork_child(struct command_child *c)
{
	int go[2], error[2];
	int r = open_pipes(go, error);

	if (r)
		return r;
	c->pid = fork();
	if (c->pid == 0) {
		close(go[1]);
		close(error[0]);
		command_child_run_child(c->argv, go[0], error[1]);
	}
	r = c->pid < 0 ? -errno : 0;
	close(go[0]);
	close(error[1]);
	c->go = go[1];
	c->error = error[0];
	return r;
}

int command_child_fork(char **argv, struct err_text *e, struct command_child **ret)
{
	struct command_child *c = malloc(sizeof(*c));
	int r;

	if (!c)
		return err_set(e, -ENOMEM, "out of memory");
	*c = (struct command_child){.argv = argv, .pid = -1, .go = -1, .error = -1};
	r = fork_child(c);
	if (r) {
		command_child_free(c);
		return err_set(e, r, "cannot start '%.80s': %s", argv[0], strerror(-r));
	}
	*ret = c;
	return 0;
}

pid_t command_child_pid(const struct command_child *c)
{
	return c->pid;
}

bool command_child_is_running(const struct command_child *c)
{
	return c->state == RUNS;
}

static void reap_child(struct command_child *c)
{
	if (c->state != ENDED && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->state = ENDED;
}

static void on_child(evutil_socket_t fd, short what, void *ctx)
{
	struct command_child *c = ctx;

	reap_child(c);
	if (c->state != ENDED)
		return;
	event_del(c->child_event);
	c->on_end(c->ctx);
}

int command_child_watch(struct command_child *c, struct event_base *loop, void (*on_end)(void *ctx),
			void *ctx)
{
	c->on_end = on_end;
	c->ctx = ctx;
	c->child_event = evsignal_new(loop, SIGCHLD, on_child, c);
	if (!c->child_event || event_add(c->child_event, NULL))
		return -ENOMEM;
	/* The child may have ended before SIGCHLD was watched. */
	event_active(c->child_event, EV_SIGNAL, 1);
	return 0;
}

void command_child_unwatch(struct command_child *c)
{
	event_freep(&c->child_event);
}

/* Reads a code that the child wrote. Returns false if it was killed, or has executed the
 * command. */
static bool read_code(struct command_child *c, int *ret)
{
	ssize_t n;

	do
		n = read(c->error, ret, sizeof(*ret));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*ret);
}

void command_child_map_files(struct command_child *c)
{
	const char request = MAP_FILES;
	int code;

	if (write(c->go, &request, 1) == 1)
		(void)read_code(c, &code);
}

int command_child_run(struct command_child *c, const char *producer_socket, struct err_text *e)
{
	const char *address = producer_socket ? producer_socket : "";
	ssize_t len = (ssize_t)strlen(address) + 1, n;
	int code = 0;

	if (c->state != WAITS)
		return err_set(e, -ESRCH, "'%.80s' was killed before it ran", c->argv[0]);
	n = len > PIPE_BUF ? -1 : write(c->go, address, (size_t)len);
	closep(&c->go);
	c->go = -1;
	if (n != len)
		return err_set(e, -ESRCH, "'%.80s' was killed before it ran", c->argv[0]);
	if (read_code(c, &code))
		return err_set(e, -code, "cannot run '%.80s': %s", c->argv[0], strerror(code));
	c->ran = true;
	c->state = RUNS;
	return 0;
}

void command_child_signal(const struct command_child *c, int number)
{
	if (c->state == RUNS)
		kill(c->pid, number);
}

bool command_child_was_executed(const struct command_child *c)
{
	return c->ran;
}

int command_child_exit_code(const struct command_child *c)
{
	if (c->state != ENDED)
		return -1;
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void command_child_describe(const struct command_child *c, struct strbuf *b)
{
	int number = WTERMSIG(c->status);

	strbuf_printf(b, "'%.80s' ", c->argv[0]);
	if (!c->ran)
		strbuf_puts(b, "did not run");
	else if (c->state == RUNS)
		strbuf_printf(b, "is still running (pid %d)", (int)c->pid);
	else if (WIFSIGNALED(c->status))
		strbuf_printf(b, "was killed by signal %d (%s)", number, strsignal(number));
	else
		strbuf_printf(b, "exited with code %d", WEXITSTATUS(c->status));
}

void command_child_free(struct command_child *c)
{
	if (!c)
		return;
	reap_child(c);
	closep(&c->go);
	closep(&c->error);
	command_child_unwatch(c);
	if (c->pid > 0 && c->state == WAITS)
		waitpid(c->pid, NULL, 0);
	free(c);
}
