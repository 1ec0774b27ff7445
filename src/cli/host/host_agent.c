/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	stdin  --- frames --> agent --- signals ------------> recording (child, own process group)
 *	stdout <-- frames ---   | <--- trace, out, errors ---    |
 *	                        +----- the end of the child -----+--> HOST_EXIT
 *
 * If the connection is lost, the trace has no reader any more: the agent ends the recording and its
 * command, and exits. The private daemons of a recording end with it.
 */

#include "cli/host/host_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/host/host_stream.h"
#include "cli/terminal/verb.h"

#define SEND_AHEAD (512u << 10) /* bytes that may wait to be sent */
#define READ_MAX (64u << 10)
#define PIPE_READS_MAX 16 /* what the largest pipe holds */
#define SILENCE_MAX_S 60 /* the other side sends a frame every few seconds */

/* How a recording without a reader is ended: the signals for it and its command, and how long each
 * has to work. */
static const struct {
	int number;
	int wait_ms;
} last_signals[] = {{SIGHUP, 2000}, {SIGTERM, 5000}, {SIGKILL, -1}};

enum { TRACE, OUT, ERR, N_PIPES };
static const enum host_frame_type pipe_frames[N_PIPES] = {HOST_TRACE, HOST_OUT, HOST_ERR};

struct host_agent {
	struct host_stream stream;
	int (*record)(int argc, char **argv, const struct host_output *output);
	pid_t child; /* 0: not started */
	int child_fd; /* a pidfd; -1: not started */
	int pipes[N_PIPES]; /* our ends; -1: closed */
	bool *discarded; /* shared with the child */
	uint64_t heard_ns; /* when the last bytes came */
	bool has_ended; /* the child */
};

/* ---- the child ---- */

static void agent_become_recording(const struct host_agent *a, const struct host_request *r,
				   const int ends[static N_PIPES], int config, pid_t parent)
{
	const struct host_output output = {
		.trace = ends[TRACE],
		.config = config,
		.name = r->output,
		.is_one_of_several = r->is_one_of_several,
		.has_color = r->has_color,
		.discarded = a->discarded,
	};
	int null = open("/dev/null", O_RDONLY);
	int code;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILED);
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(ends[OUT], STDOUT_FILENO) < 0 ||
	    dup2(ends[ERR], STDERR_FILENO) < 0)
		_exit(EXIT_FAILED);
	close(a->child_fd);
	for (int i = 0; i < N_PIPES; i++)
		close(a->pipes[i]);
	code = a->record(r->argc, r->argv, &output);
	if (fflush(stdout) != 0 && code == EXIT_GOOD)
		code = EXIT_FAILED;
	_exit(code);
}

/* Returns a descriptor of a file in memory with the config, -1 without one, or -errno. */
static int agent_make_config_file(const struct host_request *r)
{
	int fd, error;

	if (!r->has_config)
		return -1;
	fd = memfd_create("config", MFD_CLOEXEC);
	error = fd < 0 ? -errno : fs_write_all(fd, r->config, r->config_len);
	if (!error && lseek(fd, 0, SEEK_SET) < 0)
		error = -errno;
	if (!error)
		return fd;
	closep(&fd);
	return error;
}

static int agent_start_recording(struct host_agent *a, const struct host_request *r)
{
	int ends[N_PIPES] = {-1, -1, -1}, config = agent_make_config_file(r), error = 0;
	pid_t parent = getpid();

	if (config < -1)
		error = config;
	for (int i = 0; !error && i < N_PIPES; i++) {
		int both[2];

		error = pipe2(both, O_CLOEXEC) ? -errno : 0;
		if (error)
			break;
		a->pipes[i] = both[0];
		ends[i] = both[1];
		fcntl(both[0], F_SETFL, O_NONBLOCK);
	}
	if (!error) {
		a->child = fork();
		if (a->child == 0)
			agent_become_recording(a, r, ends, config, parent);
		error = a->child < 0 ? -errno : 0;
	}
	if (!error) {
		setpgid(a->child, a->child); /* whichever process is first */
		a->child_fd = (int)syscall(SYS_pidfd_open, a->child, 0);
		error = a->child_fd < 0 ? -errno : 0;
	}
	for (int i = 0; i < N_PIPES; i++)
		closep(&ends[i]);
	if (config >= 0)
		close(config);
	return error;
}

/* Ends the recording and its command, and waits for that. Then kills what is left of their process
 * group. */
static void agent_kill_recording(struct host_agent *a)
{
	siginfo_t info;

	for (int i = 0; i < N_PIPES; i++)
		closep(&a->pipes[i]); /* the recording cannot block in a write */
	for (size_t i = 0; i < ARRAY_SIZE(last_signals); i++) {
		struct pollfd p = {.fd = a->child_fd, .events = POLLIN};

		kill(-a->child, last_signals[i].number);
		if (a->child_fd >= 0 && poll(&p, 1, last_signals[i].wait_ms) > 0)
			break; /* old kernels have no pidfd: all signals come at once */
	}
	/* The zombie keeps the number of the group until all of it was killed. */
	waitid(P_PID, (id_t)a->child, &info, WEXITED | WNOWAIT);
	kill(-a->child, SIGKILL);
	waitpid(a->child, NULL, 0);
}

/* ---- the connection ---- */

static void agent_put_pong(struct host_agent *a, uint64_t number)
{
	const uint64_t values[] = {number, clock_boot_ns(), clock_ns(CLOCK_REALTIME)};

	host_frame_put_u64(&a->stream.to_send, HOST_PONG, values, ARRAY_SIZE(values));
}

/* Sends the error and HOST_EXIT, because the recording could not be started, and ends its child.
 * Returns 0: the agent exits when this is sent. */
static int agent_refuse(struct host_agent *a, int error)
{
	struct strbuf *b = &a->stream.to_send, text = {0};
	const uint32_t values[] = {EXIT_FAILED, 0};

	strbuf_printf(&text, "sonda: cannot start the recording: %s\n", strerror(-error));
	if (text.s)
		host_frame_put(b, HOST_ERR, text.s, text.len);
	strbuf_deinit(&text);
	host_frame_put_u32(b, HOST_EXIT, values, ARRAY_SIZE(values));
	if (a->child > 0)
		agent_kill_recording(a);
	a->has_ended = true;
	return 0;
}

/* Returns 0; -EBADMSG if the frame is invalid, or not expected now; or another -errno. */
static int agent_handle_frame(struct host_agent *a, const struct host_frame *f)
{
	struct host_request request;
	uint64_t number;
	uint32_t signal_number;
	int r;

	switch (f->type) {
	case HOST_PING:
		if (!host_frame_u64(f, &number, 1))
			return -EBADMSG;
		agent_put_pong(a, number);
		return 0;
	case HOST_REQUEST:
		r = a->child ? -EBADMSG : host_request_decode(f->data, f->len, &request);
		if (r)
			return r;
		r = agent_start_recording(a, &request);
		free(request.argv);
		return r ? agent_refuse(a, r) : 0;
	case HOST_SIGNAL:
		if (!host_frame_u32(f, &signal_number, 1))
			return -EBADMSG;
		if (a->child && signal_number < NSIG)
			kill(a->child, (int)signal_number);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Reads once from pipe i of the recording and appends the data as a frame. Closes the pipe at its
 * end. Returns false if nothing was read. */
static bool agent_forward(struct host_agent *a, int i)
{
	struct strbuf *b = &a->stream.to_send;
	char bytes[READ_MAX];
	ssize_t n = read(a->pipes[i], bytes, sizeof(bytes));

	if (n > 0)
		host_frame_put(b, pipe_frames[i], bytes, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		closep(&a->pipes[i]);
	return n > 0;
}

/* After the end of the recording, appends the rest of its output, and its exit code. Processes that
 * its command has left behind may still have the pipes, and are not waited for. */
static void agent_put_end(struct host_agent *a)
{
	struct strbuf *b = &a->stream.to_send;
	uint32_t values[2];
	int status = 0;
	char text[80];

	for (int i = 0; i < N_PIPES; i++)
		for (int n = 0; n < PIPE_READS_MAX && a->pipes[i] >= 0 && agent_forward(a, i); n++)
			;
	waitpid(a->child, &status, 0);
	if (WIFSIGNALED(status)) {
		snprintf(text, sizeof(text), "sonda: the recording was killed by signal %d\n",
			 WTERMSIG(status));
		host_frame_put(b, HOST_ERR, text, strlen(text));
	}
	values[0] = (uint32_t)(WIFSIGNALED(status) ? EXIT_FAILED : WEXITSTATUS(status));
	values[1] = *a->discarded;
	host_frame_put_u32(b, HOST_EXIT, values, ARRAY_SIZE(values));
	a->has_ended = true;
}

/* Receives, and handles the complete frames. Returns 0, -ENOTCONN at the end of the connection, or
 * another -errno. */
static int agent_receive(struct host_agent *a)
{
	struct host_frame f;
	int r = host_stream_receive(&a->stream);

	if (r <= 0)
		return r ? r : -ENOTCONN;
	a->heard_ns = clock_mono_ns();
	while ((r = host_stream_next_frame(&a->stream, &f)) > 0) {
		r = agent_handle_frame(a, &f);
		if (r)
			return r;
	}
	return r;
}

/* Returns 0 when everything was sent, or -errno when the connection is lost. */
static int agent_run(struct host_agent *a)
{
	enum { IN = N_PIPES, SEND, CHILD, N };

	while (!a->has_ended || host_stream_waiting(&a->stream)) {
		bool has_room = host_stream_waiting(&a->stream) < SEND_AHEAD;
		struct pollfd p[N];
		int r = 0;

		for (int i = 0; i < N_PIPES; i++)
			p[i] = (struct pollfd){has_room ? a->pipes[i] : -1, POLLIN, 0};
		p[IN] = (struct pollfd){a->stream.in, POLLIN, 0};
		p[SEND] = (struct pollfd){a->stream.out, 0, 0};
		if (host_stream_waiting(&a->stream))
			p[SEND].events = POLLOUT;
		p[CHILD] = (struct pollfd){has_room && !a->has_ended ? a->child_fd : -1, POLLIN, 0};
		if (poll(p, N, 1000) < 0 && errno != EINTR)
			return -errno;
		if (p[IN].revents)
			r = agent_receive(a);
		for (int i = 0; i < N_PIPES; i++)
			if (p[i].revents && a->pipes[i] >= 0)
				agent_forward(a, i);
		if (p[CHILD].revents)
			agent_put_end(a);
		if (!r)
			r = host_stream_send(&a->stream);
		if (!r && p[SEND].revents & POLLERR)
			r = -EPIPE;
		if (!r && clock_mono_ns() - a->heard_ns > SILENCE_MAX_S * NS_PER_S)
			r = -ETIMEDOUT;
		if (r)
			return r;
	}
	return 0;
}

/* ---- start and end ---- */

/* Removes the program that the shell has copied for this run. The processes of the recording start
 * from /proc/self/exe, which does not need the file's name. */
static void agent_remove_program(const char *dir)
{
	char path[PATH_MAX];

	if (!fs_join(path, sizeof(path), dir, "sonda"))
		unlink(path);
	rmdir(dir);
}

int host_agent_main(const char *value,
		    int (*record)(int argc, char **argv, const struct host_output *output))
{
	struct host_agent a = {
		.stream = {.in = STDIN_FILENO, .out = STDOUT_FILENO},
		.record = record,
		.child_fd = -1,
		.pipes = {-1, -1, -1},
		.heard_ns = clock_mono_ns(),
	};
	const uint32_t uid = geteuid();
	int r;

	if (value && !strcmp(value, "version")) {
		printf("%d %s\n", HOST_PROTOCOL, SONDA_VERSION);
		return EXIT_GOOD;
	}
	if (value)
		agent_remove_program(value);
	a.discarded = mmap(NULL, sizeof(*a.discarded), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a.discarded == MAP_FAILED) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
	strbuf_puts(&a.stream.to_send, "\n" HOST_MARK "agent\n");
	host_frame_put_u32(&a.stream.to_send, HOST_HELLO, &uid, 1);
	r = agent_run(&a);
	if (a.child > 0 && !a.has_ended)
		agent_kill_recording(&a);
	host_stream_deinit(&a.stream);
	return r ? EXIT_FAILED : EXIT_GOOD;
}
