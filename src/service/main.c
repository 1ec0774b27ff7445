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
#include "service/service.h"

#define MAX_FILES 16384 /* a connection takes a descriptor */
#define MAX_SOCKETS 16 /* PERFETTO_PRODUCER_SOCK_NAME may be a list */

enum { EXIT_USAGE = 2 };

struct sockets {
	struct {
		char *address; /* owned */
		int fd; /* owned until the service takes it */
		bool is_path;
	} list[MAX_SOCKETS];
	size_t n;
	size_t n_producers; /* the first ones; the last one is the consumers' */
};

/* ---- sockets ---- */

static int listen_on(struct sockets *s, const char *address)
{
	enum sock_family family = sock_family_of(address);
	struct err_text e = {""};
	int fd, r;

	if (family != SOCK_FAMILY_UNIX_PATH && family != SOCK_FAMILY_UNIX_ABSTRACT) {
		log_error("%s: only unix sockets are supported: on others nobody knows who is "
			  "at the other end",
			  address);
		return -EAFNOSUPPORT;
	}
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
	s->list[s->n++].is_path = family == SOCK_FAMILY_UNIX_PATH;
	return 0;
}

static int open_sockets(struct sockets *s)
{
	_cleanup_(freep) char *producers = strdup(sock_default_producer());
	char *rest = NULL;
	int r = 0;

	if (!producers)
		return -ENOMEM;
	for (char *a = strtok_r(producers, ",", &rest); a && r == 0; a = strtok_r(NULL, ",", &rest))
		r = listen_on(s, a);
	s->n_producers = s->n;
	return r < 0 ? r : listen_on(s, sock_default_consumer());
}

static int give_sockets(struct sockets *s, struct service *service)
{
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		int fd = TAKE_FD(s->list[i].fd);

		r = i < s->n_producers ? service_listen_producers(service, fd)
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

static int run(struct event_base *loop, struct sockets *sockets)
{
	struct event *sigint = evsignal_new(loop, SIGINT, on_signal, loop);
	struct event *sigterm = evsignal_new(loop, SIGTERM, on_signal, loop);
	struct service *service = NULL;
	int r = service_new(loop, &service);

	if (r == 0)
		r = give_sockets(sockets, service);
	if (r == 0 && (!sigint || !sigterm || evsignal_add(sigint, NULL) < 0 ||
		       evsignal_add(sigterm, NULL) < 0))
		r = -ENOMEM;
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

static int serve(bool background)
{
	struct sockets sockets = {0};
	struct event_base *loop = NULL;
	int r = open_sockets(&sockets);

	if (r == 0 && background)
		r = go_background();
	if (r == 0) {
		loop = new_loop();
		r = loop ? run(loop, &sockets) : -ENOMEM;
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
		"usage: sondad [--background] [--version] [--help]\n"
		"\n"
		"The tracing service: collects what producers record, for who asks for it.\n"
		"\n"
		"  --background  detach once the sockets are open, and print the process id\n"
		"\n"
		"Sockets, in the syntax PATH or @ABSTRACT:\n"
		"  PERFETTO_PRODUCER_SOCK_NAME  %s\n"
		"  PERFETTO_CONSUMER_SOCK_NAME  %s\n",
		sock_default_producer(), sock_default_consumer());
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"background", no_argument, NULL, 'B'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	bool background = false;
	int o;

	log_init("sondad");
	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (o) {
		case 'B':
			background = true;
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
	return serve(background);
}
