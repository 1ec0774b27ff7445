/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	state       we send               and wait for
 *	ASKING      the shell script      "@sonda-host SYSTEM MACHINE AGENT": is sonda there?
 *	STARTING    "run 0 SUDO"          "@sonda-agent"
 *	OFFERING    "copy SIZE SUDO"      "@sonda-send"
 *	COPYING     the program           "@sonda-agent"
 *	MEASURING   pings                 pongs
 *	READY       the request           the end of the recording
 *
 * ssh runs `sh` there, which reads a constant script from standard input: nothing that the user has
 * typed passes through a shell. The script reads our answers from the same stream, so we never send
 * more than it waits for. Other lines than those with the mark are from login shells, and skipped.
 */

#include "cli/host/host_link.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/event_loop/event_free.h"
#include "base/text/str.h"
#include "cli/host/host_agent.h"
#include "cli/host/host_program.h"

#define NOISE_MAX (64u << 10) /* bytes of login shells before our own */
#define COPY_AHEAD (256u << 10)
#define PINGS 8 /* before the recording */
#define PING_EVERY_S 5
#define SILENCE_MAX_S 60
#define EXIT_NO_PROGRAM 127 /* as a shell's */
#define END_WAIT_MS 2000 /* for ssh to end */

static const char script[] =
	"{\n"
	"fail() { echo '" HOST_MARK "fail' \"$1\"; exit 1; }\n"
	"has=$(sonda record --agent=version 2>/dev/null </dev/null)\n"
	"echo\n"
	"echo '" HOST_MARK "host' \"$(uname -s)\" \"$(uname -m)\" \"$has\"\n"
	"read -r what size sudo || exit 1\n"
	"[ \"$what\" = copy ] || { $sudo sonda record --agent; exit $?; }\n"
	"mask=$(umask)\n"
	"umask 077\n"
	"new=\n"
	"for dir in \"${TMPDIR:-/tmp}\" \"${XDG_RUNTIME_DIR:-/run}\" /var/tmp /dev/shm \"$HOME\"; "
	"do\n"
	"  new=$(mktemp -d \"$dir/sonda-host-XXXXXX\" 2>/dev/null) || { new=; continue; }\n"
	"  program=$new/sonda\n"
	"  trap 'rm -rf \"$new\"' EXIT\n"
	"  trap 'exit 1' HUP INT PIPE TERM\n"
	"  echo '#!/bin/sh' >\"$program\" && chmod 700 \"$program\" &&\n"
	"    \"$program\" </dev/null 2>/dev/null && break\n"
	"  rm -rf \"$new\"\n"
	"  new=\n"
	"done 2>/dev/null\n"
	"[ -n \"$new\" ] || fail 'no directory where a program can be written and run'\n"
	"echo '" HOST_MARK "send'\n"
	"head -c \"$size\" >\"$program\"\n"
	"[ \"$(wc -c <\"$program\")\" -eq \"$size\" ] || fail \"the copy in $dir is incomplete\"\n"
	"umask \"$mask\"\n"
	"$sudo \"$program\" record --agent=\"$new\"\n"
	"exit $?\n"
	"}\n";

enum link_state { ASKING, STARTING, OFFERING, COPYING, MEASURING, READY, OVER };

struct host_link {
	const struct host_link_setup *setup;
	enum link_state state;
	pid_t ssh;
	struct host_stream stream;
	struct event *readable, *writable; /* owned */
	int program; /* the file to copy; -1: none */
	uint64_t program_left; /* bytes of it that are still to be sent */
	char first_line[80]; /* the first unexpected line from the other side */
	size_t noise; /* bytes of lines without the mark */
	unsigned pings_left;
	uint64_t pinged_ns, heard_ns;
	struct host_clocks clocks;
	uint32_t uid;
};

/* ---- the process of ssh ---- */

static void link_become_ssh(const char *host, int sock, pid_t parent)
{
	const char *ssh = getenv("SONDA_SSH");
	struct strbuf command = {0};
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	/* The terminal sends Ctrl-C to ssh, too, which must live until the recording is saved. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(sock, STDIN_FILENO) < 0 || dup2(sock, STDOUT_FILENO) < 0)
		_exit(127);
	if (ssh && *ssh) {
		strbuf_printf(&command, "exec %s \"$@\"", ssh);
		execl("/bin/sh", "sh", "-c", command.s, "sonda", host, "sh", NULL);
	} else {
		execlp("ssh", "ssh", "-Txa", "-oClearAllForwardings=yes", host, "sh", NULL);
	}
	fprintf(stderr, "sonda: cannot run ssh: %s\n", strerror(errno));
	_exit(EXIT_NO_PROGRAM);
}

/* Waits for the end of ssh, whose connection to us is closed, and kills it if it takes too long.
 * Returns its status. */
static int link_reap_ssh(struct host_link *l)
{
	const struct timespec moment = {0, 10 * NS_PER_MS};
	int status = 0;

	for (int ms = 0; waitpid(l->ssh, &status, WNOHANG) == 0; ms += 10) {
		if (ms == END_WAIT_MS)
			kill(l->ssh, SIGTERM);
		if (ms == 2 * END_WAIT_MS)
			kill(l->ssh, SIGKILL);
		nanosleep(&moment, NULL);
	}
	l->ssh = -1;
	return status;
}

/* ---- the end ---- */

static void link_close(struct host_link *l)
{
	event_freep(&l->readable);
	event_freep(&l->writable);
	closep(&l->stream.in);
	closep(&l->program);
	l->state = OVER;
}

static void link_fail(struct host_link *l, const char *why)
{
	struct err_text text;

	err_set(&text, 0, "%s", why);
	link_close(l);
	l->setup->ops->on_failed(l->setup->ctx, text.text);
}

/* Reports the failure of a connection that ended before the recording did. */
static void link_fail_at_end(struct host_link *l)
{
	bool was_ready = l->state == READY, was_copying = l->state == COPYING;
	bool was_asking = l->state == ASKING;
	struct err_text why;
	int status, code;

	link_close(l);
	status = link_reap_ssh(l);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (was_ready)
		err_set(&why, 0, "the connection was lost");
	else if (l->first_line[0])
		err_set(&why, 0, "the remote shell exited with code %d: %s", code, l->first_line);
	else if (code == 255)
		err_set(&why, 0, "ssh cannot connect (exit code 255)");
	else if (code == EXIT_NO_PROGRAM && was_asking)
		err_set(&why, 0, "ssh or the remote shell was not found (exit code %d)", code);
	else
		err_set(&why, 0, "sonda could not be %s on the remote machine (exit code %d)",
			was_copying ? "copied and started" : "started", code);
	l->setup->ops->on_failed(l->setup->ctx, why.text);
}

/* ---- sending ---- */

static void link_fill_with_program(struct host_link *l)
{
	struct strbuf *b = &l->stream.to_send;

	while (l->state == COPYING && l->program_left &&
	       host_stream_waiting(&l->stream) < COPY_AHEAD) {
		size_t n = (size_t)MIN(l->program_left, COPY_AHEAD);
		char *room = strbuf_reserve(b, n);
		ssize_t got = room ? read(l->program, room, n) : -1;

		if (got <= 0) {
			link_fail(l, "cannot read the sonda program to copy to the remote machine");
			return;
		}
		b->len += (size_t)got;
		l->program_left -= (uint64_t)got;
	}
}

/* Sends what the connection accepts; the rest when it is writable. */
static void link_send(struct host_link *l)
{
	int r;

	link_fill_with_program(l);
	if (l->state == OVER)
		return;
	r = host_stream_send(&l->stream);
	/* If the other side has closed the connection, its last message can still be read. */
	if (r && r != -EPIPE && r != -ECONNRESET)
		link_fail(l, strerror(-r));
	else if (r)
		strbuf_clear(&l->stream.to_send);
	else if (host_stream_waiting(&l->stream) || (l->state == COPYING && l->program_left))
		event_add(l->writable, NULL);
}

static void link_on_writable(evutil_socket_t fd, short what, void *ctx)
{
	link_send(ctx);
}

static void link_ping(struct host_link *l)
{
	const uint64_t now = clock_boot_ns();

	l->pinged_ns = clock_mono_ns();
	host_frame_put_u64(&l->stream.to_send, HOST_PING, &now, 1);
	link_send(l);
}

/* ---- lines of the remote shell ---- */

/* Offers to copy a program to the other machine, or fails if there is none for it here. version:
 * that of the sonda there; "": there is none, or an old one. */
static void link_offer_program(struct host_link *l, const char *system, const char *machine,
			       const char *version)
{
	struct err_text e, why;

	if (strcmp(system, "Linux") != 0) {
		link_fail(l, "the remote machine does not run Linux");
		return;
	}
	l->program = host_program_open(machine, &l->program_left, &e);
	if (l->program < 0) {
		err_set(&why, 0, "%s%.40s%s%s",
			*version ? "the remote machine has sonda version " : "", version,
			*version ? ", not " SONDA_VERSION "; " : "", e.text);
		str_make_plain(why.text, strlen(why.text), "");
		link_fail(l, why.text);
		return;
	}
	strbuf_printf(&l->stream.to_send, "copy %" PRIu64 "%s\n", l->program_left,
		      l->setup->sudo ? " sudo -n" : "");
	l->state = OFFERING;
	l->setup->ops->on_copy(l->setup->ctx, l->program_left);
	link_send(l);
}

/* Handles the line "SYSTEM MACHINE PROTOCOL VERSION", with which the other machine begins. The last
 * two are missing if there is no sonda. Starts the agent if both are ours, or else offers a
 * copy. */
static void link_handle_host(struct host_link *l, char *line)
{
	char *system = strsep(&line, " "), *machine = line ? strsep(&line, " ") : NULL;
	const char *version;
	char own[32];

	snprintf(own, sizeof(own), "%d %s", HOST_PROTOCOL, SONDA_VERSION);
	if (!machine) {
		link_fail(l, "the remote shell has no uname command");
	} else if (line && !strcmp(line, own)) {
		strbuf_puts(&l->stream.to_send, l->setup->sudo ? "run 0 sudo -n\n" : "run 0\n");
		l->state = STARTING;
		link_send(l);
	} else {
		version = line ? strchr(line, ' ') : NULL;
		link_offer_program(l, system, machine, version ? version + 1 : "");
	}
}

static void link_handle_line(struct host_link *l, char *line)
{
	struct err_text why;
	char *rest;

	if (!str_starts(line, HOST_MARK)) {
		l->noise += strlen(line) + 1;
		if (!l->first_line[0] && *line) {
			snprintf(l->first_line, sizeof(l->first_line), "%s", line);
			str_make_plain(l->first_line, strlen(l->first_line), "");
		}
		return;
	}
	l->first_line[0] = '\0';
	line += strlen(HOST_MARK);
	rest = strchrnul(line, ' ');
	if (*rest)
		*rest++ = '\0';
	if (!strcmp(line, "fail")) {
		str_make_plain(rest, strlen(rest), "");
		err_set(&why, 0, "cannot copy sonda: %.200s", rest);
		link_fail(l, why.text);
	} else if (l->state == ASKING && !strcmp(line, "host")) {
		link_handle_host(l, rest);
	} else if (l->state == OFFERING && !strcmp(line, "send")) {
		l->state = COPYING;
		link_send(l);
	} else if ((l->state == STARTING || l->state == COPYING) && !strcmp(line, "agent")) {
		l->state = MEASURING;
	} else {
		link_fail(l, "unexpected reply from the remote shell");
	}
}

/* ---- frames of the agent ---- */

/* Keeps the measurement with the shortest trip: its error is at most half of it. */
static void link_handle_pong(struct host_link *l, const uint64_t v[static 3])
{
	uint64_t now = clock_boot_ns();

	if (v[0] > now || v[1] > INT64_MAX || v[2] > INT64_MAX) {
		link_fail(l, "unexpected data from the remote agent");
		return;
	}
	if (!l->clocks.trip_ns || now - v[0] < l->clocks.trip_ns)
		l->clocks = (struct host_clocks){
			.boot_ns = v[1],
			.real_ns = v[2],
			.local_ns = v[0] + (now - v[0]) / 2,
			.trip_ns = MAX(now - v[0], 1),
		};
	if (l->state != MEASURING)
		return;
	if (--l->pings_left) {
		link_ping(l);
		return;
	}
	l->state = READY;
	l->setup->ops->on_ready(l->setup->ctx);
}

static void link_handle_exit(struct host_link *l, const uint32_t v[static 2])
{
	link_close(l);
	l->setup->ops->on_exit(l->setup->ctx, (int)(v[0] & 0xff), v[1]);
}

/* Returns false for a frame that is invalid or not expected in this state. */
static bool link_handle_frame(struct host_link *l, const struct host_frame *f)
{
	const struct host_link_ops *ops = l->setup->ops;
	uint64_t pong[3];
	uint32_t exit[2];

	switch (f->type) {
	case HOST_HELLO:
		if (l->state != MEASURING || l->pings_left || !host_frame_u32(f, &l->uid, 1))
			return false;
		l->pings_left = PINGS;
		link_ping(l);
		return true;
	case HOST_PONG:
		if ((l->state == MEASURING && !l->pings_left) || !host_frame_u64(f, pong, 3))
			return false;
		link_handle_pong(l, pong);
		return true;
	case HOST_TRACE:
		if (l->state == READY)
			ops->on_trace(l->setup->ctx, f->data, f->len);
		return l->state == READY;
	case HOST_OUT:
	case HOST_ERR:
		if (l->state == READY)
			ops->on_output(l->setup->ctx, f->type == HOST_ERR, f->data, f->len);
		return l->state == READY;
	case HOST_EXIT:
		if (l->state != READY || !host_frame_u32(f, exit, 2))
			return false;
		link_handle_exit(l, exit);
		return true;
	default:
		return false;
	}
}

/* ---- receiving ---- */

static void link_handle_received(struct host_link *l)
{
	struct host_frame f;
	const char *line;
	int r;

	while (l->state < MEASURING && (line = host_stream_next_line(&l->stream)))
		link_handle_line(l, (char *)line);
	if (l->state < MEASURING &&
	    (l->noise > NOISE_MAX || l->stream.received.len - l->stream.used > NOISE_MAX)) {
		link_fail(l, "the remote login shell prints too much output");
		return;
	}
	while ((l->state == MEASURING || l->state == READY) &&
	       (r = host_stream_next_frame(&l->stream, &f)) != 0)
		if (r < 0 || !link_handle_frame(l, &f)) {
			if (l->state != OVER)
				link_fail(l, "unexpected data from the remote agent");
			return;
		}
}

static void link_on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct host_link *l = ctx;
	int r = host_stream_receive(&l->stream);

	if (r == 1) {
		l->heard_ns = clock_mono_ns();
		link_handle_received(l);
	} else if (r == -ENOMEM) {
		link_fail(l, "out of memory");
	} else {
		link_fail_at_end(l);
	}
}

/* ---- the caller's side ---- */

int host_link_start(const struct host_link_setup *setup, struct err_text *e, struct host_link **ret)
{
	struct host_link *l = calloc(1, sizeof(*l));
	pid_t parent = getpid();
	int ends[2], r;

	if (!l)
		return err_set(e, -ENOMEM, "out of memory");
	*l = (struct host_link){.setup = setup, .ssh = -1, .program = -1};
	l->stream.in = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		r = -errno;
		host_link_free(l);
		return err_set(e, r, "cannot run ssh: %s", strerror(-r));
	}
	l->stream.in = l->stream.out = ends[0];
	l->ssh = fork();
	if (l->ssh == 0)
		link_become_ssh(setup->host, ends[1], parent);
	r = l->ssh < 0 ? -errno : 0;
	close(ends[1]);
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	l->heard_ns = clock_mono_ns();
	l->readable = event_new(setup->loop, ends[0], EV_READ | EV_PERSIST, link_on_readable, l);
	l->writable = event_new(setup->loop, ends[0], EV_WRITE, link_on_writable, l);
	if (!r && (!l->readable || !l->writable || event_add(l->readable, NULL)))
		r = -ENOMEM;
	if (r) {
		host_link_free(l);
		return err_set(e, r, "cannot run ssh: %s", strerror(-r));
	}
	strbuf_puts(&l->stream.to_send, script);
	event_add(l->writable, NULL);
	*ret = l;
	return 0;
}

void host_link_free(struct host_link *l)
{
	if (!l)
		return;
	if (l->state < READY && l->ssh > 0)
		kill(l->ssh, SIGTERM); /* it may still be connecting, or asking for a password */
	link_close(l);
	if (l->ssh > 0)
		link_reap_ssh(l);
	host_stream_deinit(&l->stream);
	free(l);
}

int host_link_request(struct host_link *l, const struct host_request *r)
{
	int error = host_request_put(&l->stream.to_send, r);

	if (!error)
		link_send(l);
	return error;
}

void host_link_signal(struct host_link *l, int number)
{
	const uint32_t value = (uint32_t)number;

	if (l->state != READY)
		return;
	host_frame_put_u32(&l->stream.to_send, HOST_SIGNAL, &value, 1);
	link_send(l);
}

void host_link_tick(struct host_link *l)
{
	uint64_t now = clock_mono_ns();
	struct err_text why;

	if (l->state != READY && l->state != MEASURING)
		return;
	if (now - l->heard_ns > SILENCE_MAX_S * NS_PER_S) {
		err_set(&why, 0, "the connection was lost: no reply for %d s", SILENCE_MAX_S);
		link_fail(l, why.text);
	} else if (now - l->pinged_ns > PING_EVERY_S * NS_PER_S) {
		link_ping(l);
	}
}

const struct host_clocks *host_link_clocks(const struct host_link *l)
{
	return &l->clocks;
}

uint32_t host_link_uid(const struct host_link *l)
{
	return l->uid;
}
