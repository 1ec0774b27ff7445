/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sondad: listens on the two sockets of the tracing protocol and runs the loop until SIGINT or
 * SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sock.h"
#include "base/str.h"
#include "service/sandbox.h"
#include "service/service.h"

#define MAX_FILES 16384 /* a connection takes a descriptor */
#define MAX_SOCKETS 16 /* PERFETTO_PRODUCER_SOCK_NAME may be a list */

enum { EXIT_USAGE = 2 };

/* What the person allows beyond the sockets of this machine. */
struct remote_options {
	struct remote_allow allow;
	bool relay; /* on every producer socket */
	const char *relay_on[MAX_SOCKETS]; /* borrowed from argv: on these */
	size_t n_relay_on;
};

struct sockets {
	struct {
		char *address; /* owned */
		int fd; /* owned until the service takes it */
		bool is_path;
		bool is_relay; /* offers RelayPort */
	} list[MAX_SOCKETS];
	size_t n;
	size_t n_producers; /* the first ones; the last one is the consumers' */
};

/* ---- sockets ---- */

static bool is_of_this_machine(const char *address)
{
	enum sock_family family = sock_family_of(address);

	return family == SOCK_FAMILY_UNIX_PATH || family == SOCK_FAMILY_UNIX_ABSTRACT;
}

static int listen_on(struct sockets *s, const char *address)
{
	struct err_text e = {""};
	int fd, r;

	if (s->n == MAX_SOCKETS) {
		log_error("%s: more than %d sockets", address, MAX_SOCKETS);
		return -E2BIG;
	}
	r = sock_listen(address, &fd, &e);
	if (r < 0) {
		log_error("%s", e.text); /* it names the address */
		return r;
	}
	s->list[s->n].address = strdup(address);
	s->list[s->n].fd = fd;
	s->list[s->n++].is_path = sock_family_of(address) == SOCK_FAMILY_UNIX_PATH;
	return 0;
}

/* On TCP and vsock nobody proves who is at the other end. */
static int listen_for_producers(struct sockets *s, const char *address,
				const struct remote_options *remote)
{
	if (!is_of_this_machine(address) && remote->allow.n == 0) {
		log_error("%s: not without --allow-remote ADDRESS: the addresses that producers "
			  "may connect from, as nobody there proves who it is",
			  address);
		return -EPERM;
	}
	return listen_on(s, address);
}

static int listen_for_consumers(struct sockets *s)
{
	const char *address = sock_default_consumer();

	if (!is_of_this_machine(address)) {
		log_error("%s: consumers are served on unix sockets only: whoever reaches this one "
			  "could read every trace",
			  address);
		return -EAFNOSUPPORT;
	}
	return listen_on(s, address);
}

static int mark_relays(struct sockets *s, const struct remote_options *remote)
{
	for (size_t i = 0; i < s->n_producers; i++)
		s->list[i].is_relay = remote->relay;
	for (size_t i = 0; i < remote->n_relay_on; i++) {
		size_t k = 0;

		while (k < s->n_producers && strcmp(s->list[k].address, remote->relay_on[i]) != 0)
			k++;
		if (k == s->n_producers) {
			log_error("--enable-relay-endpoint-on %s: not a producer socket",
				  remote->relay_on[i]);
			return -EINVAL;
		}
		s->list[k].is_relay = true;
	}
	return 0;
}

static int open_sockets(struct sockets *s, const struct remote_options *remote)
{
	_cleanup_(freep) char *producers = strdup(sock_default_producer());
	char *rest = NULL;
	int r = 0;

	if (!producers)
		return -ENOMEM;
	for (char *a = strtok_r(producers, ",", &rest); a && r == 0; a = strtok_r(NULL, ",", &rest))
		r = listen_for_producers(s, a, remote);
	s->n_producers = s->n;
	if (r == 0)
		r = mark_relays(s, remote);
	return r < 0 ? r : listen_for_consumers(s);
}

static int give_sockets(struct sockets *s, struct service *service,
			const struct remote_allow *allow)
{
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		int fd = TAKE_FD(s->list[i].fd);

		r = i < s->n_producers
			    ? service_listen_producers(service, fd, allow, s->list[i].is_relay)
			    : service_listen_consumers(service, fd);
	}
	return r;
}

/* Whoever comes later shall see that nobody is here. */
static void close_sockets(struct sockets *s)
{
	for (size_t i = 0; i < s->n; i++) {
		closep(&s->list[i].fd);
		if (s->list[i].is_path && s->list[i].address)
			unlink(s->list[i].address);
		free(s->list[i].address);
	}
	s->n = 0;
}

/* ---- process ---- */

/* TRACED_NOTIFY_FD: whoever started us waits there for the sockets to be open. */
static void notify_parent(void)
{
	const char *text = getenv("TRACED_NOTIFY_FD");
	uint32_t fd;

	if (!text)
		return;
	if (str_to_u32(text, &fd) < 0 || fd > INT32_MAX || write((int)fd, "1", 1) != 1) {
		log_warn("TRACED_NOTIFY_FD=%s: cannot be written", text);
		return;
	}
	close((int)fd);
}

/* The sockets are open by now, so the caller can connect when the parent has ended. */
static int go_background(void)
{
	pid_t pid = fork();
	int null;

	if (pid < 0)
		return -errno;
	if (pid > 0) {
		printf("%d\n", (int)pid);
		fflush(stdout);
		_exit(EXIT_SUCCESS);
	}
	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || chdir("/") < 0)
		return -errno;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close(null);
	return 0;
}

/* ---- the loop ---- */

static void on_signal(evutil_socket_t signal_number, short what, void *loop)
{
	(void)signal_number, (void)what;
	event_base_loopbreak(loop);
}

/* Everything that takes a privilege has been done. */
static int enter_sandbox(void)
{
	struct err_text e = {""};
	int r = sandbox_enter(&e);

	if (r < 0)
		log_error("%s", e.text);
	return r;
}

static int run(struct event_base *loop, struct sockets *sockets, const struct remote_allow *allow)
{
	struct event *sigint = evsignal_new(loop, SIGINT, on_signal, loop);
	struct event *sigterm = evsignal_new(loop, SIGTERM, on_signal, loop);
	struct service *service = NULL;
	int r = service_new(loop, &service);

	if (r == 0)
		r = give_sockets(sockets, service, allow);
	if (r == 0 && (!sigint || !sigterm || evsignal_add(sigint, NULL) < 0 ||
		       evsignal_add(sigterm, NULL) < 0))
		r = -ENOMEM;
	if (r == 0)
		r = enter_sandbox();
	if (r == 0) {
		notify_parent();
		event_base_dispatch(loop);
	}
	service_free(service);
	if (sigint)
		event_free(sigint);
	if (sigterm)
		event_free(sigterm);
	return r;
}

static struct event_base *new_loop(void)
{
	struct event_config *config = event_config_new();
	struct event_base *loop = NULL;

	if (!config)
		return NULL;
	/* One thread: no locks. */
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	loop = event_base_new_with_config(config);
	event_config_free(config);
	return loop;
}

static int serve(bool background, const struct remote_options *remote)
{
	struct sockets sockets = {0};
	struct event_base *loop = NULL;
	int r = open_sockets(&sockets, remote);

	if (r == 0 && background)
		r = go_background();
	if (r == 0) {
		loop = new_loop();
		r = loop ? run(loop, &sockets, &remote->allow) : -ENOMEM;
		if (r < 0)
			log_error("cannot start: %s", strerror(-r));
	}
	if (loop)
		event_base_free(loop);
	close_sockets(&sockets);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_help(FILE *out)
{
	fprintf(out,
		"usage: sondad [options]\n"
		"\n"
		"The tracing service: collects what producers record, for who asks for it.\n"
		"\n"
		"  --background              detach once the sockets are open, and print the "
		"process id\n"
		"  --version\n"
		"\n"
		"Producers of other machines (see docs/remote.md):\n"
		"  --allow-remote ADDRESS[/BITS],vsock://CID,...\n"
		"                            from where they may connect to producer sockets on "
		"TCP\n"
		"                            and vsock; without it there is no such socket\n"
		"  --enable-relay-endpoint   take relays, on all producer sockets\n"
		"  --enable-relay-endpoint-on SOCKET\n"
		"                            on this one; may be repeated\n"
		"\n"
		"Sockets, in the syntax PATH or @ABSTRACT; for producers also HOST:PORT or\n"
		"vsock://CID:PORT, and several separated by commas:\n"
		"  PERFETTO_PRODUCER_SOCK_NAME  %s\n"
		"  PERFETTO_CONSUMER_SOCK_NAME  %s\n",
		sock_default_producer(), sock_default_consumer());
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"background", no_argument, NULL, 'B'},
		{"allow-remote", required_argument, NULL, 'a'},
		{"enable-relay-endpoint", no_argument, NULL, 'r'},
		{"enable-relay-endpoint-on", required_argument, NULL, 'R'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct remote_options remote;
	struct err_text e = {""};
	bool background = false;
	int o;

	log_init("sondad");
	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (o) {
		case 'B':
			background = true;
			break;
		case 'a':
			if (remote_allow_add(&remote.allow, optarg, &e) < 0) {
				log_error("--allow-remote: %s", e.text);
				return EXIT_USAGE;
			}
			break;
		case 'r':
			remote.relay = true;
			break;
		case 'R':
			if (remote.n_relay_on == MAX_SOCKETS) {
				log_error("--enable-relay-endpoint-on: more than %d", MAX_SOCKETS);
				return EXIT_USAGE;
			}
			remote.relay_on[remote.n_relay_on++] = optarg;
			break;
		case 'v':
			printf("%s\n", SERVICE_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			print_help(stdout);
			return EXIT_SUCCESS;
		default:
			print_help(stderr);
			return EXIT_USAGE;
		}
	if (optind < argc) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a file may reach a limit: write(2) says so */
	fs_raise_file_limit(MAX_FILES);
	return serve(background, &remote);
}
