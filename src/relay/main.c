/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda-relay: connects the producers of this machine to the tracing service of another one.
 *
 *	start	sockets, the address of the service; then all privileges are dropped
 *	loop	relay.c: the producers; machine_report.c: this machine and its clocks
 *	SIGTERM	and SIGINT: what the producers have sent is passed on; a second signal ends at once
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/event_loop/sock_file.h"
#include "base/system/background.h"
#include "base/system/background_close.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/system/notify.h"
#include "base/system/sanitizer.h"
#include "base/system/unprivileged.h"
#include "relay/machine_report.h"
#include "relay/relay.h"

#define VERSION "sonda-relay " SONDA_VERSION
#define SERVICE_VARIABLE "PERFETTO_RELAY_SOCK_NAME"
#define MAX_FILES 4096 /* a connection takes two */

enum { EXIT_USAGE = 2 };

static const int termination_signals[] = {SIGTERM, SIGINT};

/* What is read when the connection for reports is made anew: the id of this boot, the number of
 * CPUs, the time zone. */
static const struct landlock_path readable[] = {
	{.path = "/proc/sys/kernel/random/boot_id"},
	{.path = "/sys/devices/system/cpu"},
	{.path = "/etc/localtime"},
	{.path = "/usr/share/zoneinfo"},
};

static const char *const own_calls[] = {"accept", "accept4", "connect", "socket", NULL};

struct relay_options {
	bool background, no_sandbox;
	bool has_permissions;
	struct sock_permissions permissions;
};

struct program {
	char service[SOCK_RESOLVED_TEXT];
	int listeners[RELAY_MAX_LISTENERS]; /* owned until the relay takes them; -1: taken */
	size_t n_listeners;
	struct event_base *loop; /* owned, as the following */
	struct relay *relay;
	struct machine_report *report;
	struct event *signals[ARRAY_SIZE(termination_signals)];
	struct event *closed;
	bool ends;
};

/* ---- sockets ---- */

static int find_service(struct program *p, struct err_text *e)
{
	const char *address = getenv(SERVICE_VARIABLE);
	int r;

	if (!address || !address[0])
		return err_set(e, -EINVAL,
			       SERVICE_VARIABLE
			       " is not set; set it to the address of the tracing service, for "
			       "example 10.0.0.1:20001 or vsock://2:20001");
	r = sock_resolve(address, p->service);
	return r < 0 ? err_set(e, r, SERVICE_VARIABLE "=%.200s: %s", address, strerror(-r)) : 0;
}

/* The kernel knows the process and the user of a peer only if the socket is a unix socket. Returns
 * 0, or -errno and sets e. */
static int listen_for_producers_of_this_machine(struct program *p, const char *address,
						const struct relay_options *o, struct err_text *e)
{
	int *fd = &p->listeners[p->n_listeners];

	if (p->n_listeners == RELAY_MAX_LISTENERS)
		return err_set(e, -E2BIG, "%s: too many sockets; the limit is %d", address,
			       RELAY_MAX_LISTENERS);
	if (sock_is_remote(address))
		return err_set(e, -EAFNOSUPPORT,
			       "%s: the socket for this machine's producers must be a unix socket",
			       address);
	if (strcmp(address, p->service) == 0)
		return err_set(e, -ELOOP,
			       "%s is the address of both the service and the producer socket",
			       address);
	*fd = -1;
	p->n_listeners++;
	return sock_listen_with(address, o->has_permissions ? &o->permissions : NULL, fd, e);
}

static int listen_on_default_sockets(struct program *p, const struct relay_options *o,
				     struct err_text *e)
{
	_cleanup_(freep) char *list = strdup(sock_default_producer());
	char *rest = NULL;
	int r = 0;

	if (!list)
		return err_set(e, -ENOMEM, "out of memory");
	sock_make_run_dir(list);
	for (char *a = strtok_r(list, ",", &rest); a && r == 0; a = strtok_r(NULL, ",", &rest))
		r = listen_for_producers_of_this_machine(p, a, o, e);
	return r;
}

static int use_passed_sockets(struct program *p, size_t n, const struct relay_options *o,
			      struct err_text *e)
{
	int r = 0;

	if (o->has_permissions)
		return err_set(e, -EINVAL,
			       "--set-socket-permissions: the sockets were passed to this process; "
			       "set their permissions where they are created");
	for (; p->n_listeners < n && r == 0; p->n_listeners++) {
		p->listeners[p->n_listeners] = SOCK_FIRST_PASSED + (int)p->n_listeners;
		r = sock_prepare_passed(p->listeners[p->n_listeners], e);
	}
	return r;
}

static int open_sockets(struct program *p, const struct relay_options *o, struct err_text *e)
{
	size_t n_passed;
	int r = find_service(p, e);

	if (r == 0)
		r = sock_find_passed(RELAY_MAX_LISTENERS, &n_passed, e);
	if (r)
		return r;
	return n_passed > 0 ? use_passed_sockets(p, n_passed, o, e)
			    : listen_on_default_sockets(p, o, e);
}

/* ---- the loop ---- */

static void relay_on_signal(evutil_socket_t number, short what, void *ctx)
{
	struct program *p = ctx;

	if (p->ends) {
		event_base_loopbreak(p->loop);
		return;
	}
	p->ends = true;
	relay_begin_end(p->relay);
}

static void relay_on_descriptor_closed(evutil_socket_t fd, short what, void *ctx)
{
	background_close_continue();
}

static int watch_events(struct program *p)
{
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(termination_signals); i++) {
		p->signals[i] = evsignal_new(p->loop, termination_signals[i], relay_on_signal, p);
		if (!p->signals[i] || event_add(p->signals[i], NULL) < 0)
			return -ENOMEM;
	}
	p->closed = event_new(p->loop, background_close_finished_fd(), EV_READ | EV_PERSIST,
			      relay_on_descriptor_closed, NULL);
	return p->closed && event_add(p->closed, NULL) == 0 ? 0 : -ENOMEM;
}

static int enter_sandbox(const struct relay_options *o, struct err_text *e)
{
	const struct unprivileged u = {
		.paths = readable, .n_paths = ARRAY_SIZE(readable), .calls = own_calls};
	int r = 0;

	if (BUILT_WITH_SANITIZER)
		log_info("built with a sanitizer: no sandbox");
	else if (!o->no_sandbox)
		r = unprivileged_enter(&u, e);
	if (r < 0)
		return r;
	/* Last, so that its threads have no more rights than this thread, and the same filter. */
	r = background_close_start();
	return r < 0 ? err_set(e, r, "cannot start threads: %s", strerror(-r)) : 0;
}

static int start_relay(struct program *p)
{
	int r = watch_events(p);

	if (r == 0)
		r = relay_new(p->loop, p->service, &p->relay);
	for (size_t i = 0; i < p->n_listeners && r == 0; i++)
		r = relay_add_listener(p->relay, TAKE_FD(p->listeners[i]));
	return r < 0 ? r : machine_report_new(p->loop, p->service, &p->report);
}

static int relay_run(struct program *p, const struct relay_options *o, struct err_text *e)
{
	struct notify notify;
	int r = open_sockets(p, o, e);

	if (r == 0 && o->background) {
		r = background_continue();
		if (r < 0)
			err_set(e, r, "cannot run in the background: %s", strerror(-r));
	}
	if (r < 0)
		return r;
	if (notify_open(&notify, "TRACED_RELAY_NOTIFY_FD", e) < 0)
		log_warn("%s", e->text);
	r = enter_sandbox(o, e);
	if (r == 0) {
		p->loop = event_base_new();
		r = p->loop ? start_relay(p) : -ENOMEM;
		if (r < 0)
			err_set(e, r, "%s", strerror(-r));
	}
	if (r == 0 && notify_ready(&notify, e) < 0)
		log_warn("%s", e->text);
	notify_close(&notify);
	if (r == 0)
		event_base_dispatch(p->loop);
	return r;
}

static void relay_deinit(struct program *p)
{
	machine_report_free(p->report);
	relay_free(p->relay);
	for (size_t i = 0; i < ARRAY_SIZE(p->signals); i++)
		event_freep(&p->signals[i]);
	event_freep(&p->closed);
	event_base_freep(&p->loop);
	for (size_t i = 0; i < p->n_listeners; i++)
		closep(&p->listeners[i]);
}

/* ---- options ---- */

static void print_relay_help(FILE *out)
{
	fprintf(out,
		"usage: sonda-relay [options]\n"
		"\n"
		"Connects this machine's producers to the tracing service on another machine.\n"
		"\n"
		"  --background              detach once the sockets are open, and print the "
		"process id\n"
		"  --set-socket-permissions GROUP:MODE\n"
		"                            group and mode of the sockets, as in sonda:0660\n"
		"  --no-sandbox              do not drop capabilities or filter system calls; for "
		"use\n"
		"                            under a debugger\n"
		"  -v, --verbose             log each connection\n"
		"  --version                 print the version\n"
		"  -h, --help                print this help\n"
		"\n"
		"Environment (see docs/reference/relay.md):\n"
		"  " SERVICE_VARIABLE "  the service: HOST:PORT, [IPV6]:PORT, vsock://CID:PORT,\n"
		"                            PATH or @ABSTRACT\n"
		"  PERFETTO_PRODUCER_SOCK_NAME  sockets for producers: PATH or @ABSTRACT, several\n"
		"                            separated by commas; default %s.\n"
		"                            Sockets passed by systemd take precedence\n"
		"  PERFETTO_MACHINE_NAME     name of this machine in traces; default: uname -s\n"
		"  TRACED_RELAY_NOTIFY_FD    descriptor to which \"1\" is written when the sockets "
		"are\n"
		"                            open; systemd is notified as well (Type=notify)\n",
		sock_default_producer());
}

static int parse_permissions(struct relay_options *o, char *text)
{
	char *mode = strchr(text, ':');
	struct err_text e = {"expected GROUP:MODE, as in sonda:0660"};

	if (mode)
		*mode++ = '\0';
	if (mode && sock_permissions_parse(text, mode, &o->permissions, &e) == 0) {
		o->has_permissions = true;
		return -1;
	}
	log_error("--set-socket-permissions: %s", e.text);
	return EXIT_USAGE;
}

/* Returns the exit code, or -1 to continue. */
static int relay_parse_options(struct relay_options *o, int argc, char **argv)
{
	static const struct option options[] = {
		{"background", no_argument, NULL, 'B'},
		{"set-socket-permissions", required_argument, NULL, 'p'},
		{"no-sandbox", no_argument, NULL, 'S'},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int code = -1;

	while (code < 0) {
		switch (getopt_long(argc, argv, "vh", options, NULL)) {
		case 'B':
			o->background = true;
			break;
		case 'p':
			code = parse_permissions(o, optarg);
			break;
		case 'S':
			o->no_sandbox = true;
			break;
		case 'v':
			log_set_level(LOG_LEVEL_DEBUG);
			break;
		case 'V':
			puts(VERSION);
			return EXIT_SUCCESS;
		case 'h':
			print_relay_help(stdout);
			return EXIT_SUCCESS;
		case -1:
			if (optind == argc)
				return -1;
			log_error("unexpected argument '%.80s'; see sonda-relay --help",
				  argv[optind]);
			return EXIT_USAGE;
		default:
			print_relay_help(stderr);
			return EXIT_USAGE;
		}
	}
	return code;
}

int main(int argc, char **argv)
{
	struct relay_options o = {.background = false};
	struct program p = {.n_listeners = 0};
	struct err_text e = {"out of memory"};
	int code, r;

	fs_occupy_standard_descriptors();
	log_init("sonda-relay");
	code = relay_parse_options(&o, argc, argv);
	if (code >= 0)
		return code;
	fs_raise_file_limit(MAX_FILES);
	r = relay_run(&p, &o, &e);
	if (r < 0)
		log_error("%s", e.text);
	relay_deinit(&p);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
