/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sondad: listens on the sockets of producers and consumers, and runs the loop until SIGINT or
 * SIGTERM.
 */
#include <errno.h>
#include <getopt.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/err.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/system/background.h"
#include "base/system/background_close.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/system/notify.h"
#include "base/system/priority_boost.h"
#include "base/text/str.h"
#include "service/listen_sockets.h"
#include "service/sandbox.h"
#include "service/service.h"
#include "service/session/shutdown.h"
#include "service/trace/extensions.h"
#include "service/trace/service_packets.h"

#define MAX_FILES 16384 /* a connection takes a descriptor */

#define MAX_SYSTEM_USERS 16

enum { EXIT_USAGE = 2 };

struct options {
	bool background;
	bool no_sandbox;
	bool no_priority;
	const char *output_dir; /* borrowed from argv; NULL: none */
	struct extensions extensions;
	uid_t system_users[MAX_SYSTEM_USERS];
	size_t n_system_users;
	struct socket_options sockets;
};

/* Loads the system's extensions of the trace format. Missing files are skipped. */
static void load_system_extensions(struct extensions *x)
{
	static const char *const paths[] = {"/etc/tracing_descriptors.gz",
					    "/vendor/etc/tracing_descriptors.gz"};
	struct err_text e;
	int r;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		r = extensions_load(x, paths[i], &e);
		if (r < 0 && r != -ENOENT)
			log_warn("traces will lack these extensions: %s", e.text);
	}
}

/* ---- the loop ---- */

static void main_on_signal(evutil_socket_t signal_number, short what, void *shutdown)
{
	shutdown_begin(shutdown);
}

/* Notifies the process that started the service, if it waits for that. */
static void report_ready(struct notify *n)
{
	struct err_text e;

	if (notify_ready(n, &e) < 0)
		log_warn("%s", e.text);
}

static void on_background_close(evutil_socket_t fd, short what, void *ctx)
{
	background_close_continue();
}

/* Runs the loop until a signal ends it. Returns 0, or -ENOMEM. */
static int run_loop(struct event_base *loop, struct service *service)
{
	struct event *closed = event_new(loop, background_close_finished_fd(), EV_READ | EV_PERSIST,
					 on_background_close, NULL);
	int r = closed && event_add(closed, NULL) == 0 ? 0 : -ENOMEM;

	if (r == 0) {
		do
			service_tick(service);
		while (event_base_loop(loop, EVLOOP_ONCE) == 0 && !event_base_got_break(loop));
	}
	event_freep(&closed);
	return r;
}

/* Blocks or unblocks SIGINT and SIGTERM (how: SIG_BLOCK or SIG_UNBLOCK). They are blocked while the
 * sockets' files exist but the loop does not handle signals yet: a signal would end the process
 * without removing the files. */
static void change_signal_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(how, &set, NULL);
}

/* Sets everything up that needs privileges, enters the sandbox, and runs the loop. */
static int main_run(struct event_base *loop, struct sockets *sockets, const struct options *o,
		    struct err_text *e)
{
	struct shutdown shutdown = {0};
	struct event *sigint = evsignal_new(loop, SIGINT, main_on_signal, &shutdown);
	struct event *sigterm = evsignal_new(loop, SIGTERM, main_on_signal, &shutdown);
	const struct service_options service_options = {.extensions = &o->extensions,
							.is_timely = !o->no_priority,
							.system_users = o->system_users,
							.n_system_users = o->n_system_users};
	struct service *service = NULL;
	struct notify notify;
	int r = service_new(loop, &service_options, &service);

	if (r == 0)
		r = shutdown_init(&shutdown, service_sessions(service));
	priority_boost_init();
	if (notify_open(&notify, "TRACED_NOTIFY_FD", e) < 0)
		log_warn("%s", e->text);
	if (r == 0)
		r = sockets_pass_to_service(sockets, &o->sockets, service);
	if (r == 0 && (!sigint || !sigterm || evsignal_add(sigint, NULL) < 0 ||
		       evsignal_add(sigterm, NULL) < 0))
		r = -ENOMEM;
	change_signal_mask(SIG_UNBLOCK);
	if (r < 0)
		err_set(e, r, "%s", strerror(-r));
	else
		r = o->no_sandbox ? sandbox_skip(e) : sandbox_enter(e);
	if (r == 0) {
		report_ready(&notify);
		r = run_loop(loop, service);
		if (r < 0)
			err_set(e, r, "%s", strerror(-r));
	}
	notify_close(&notify);
	shutdown_deinit(&shutdown);
	service_free(service);
	change_signal_mask(SIG_BLOCK); /* the sockets' files still exist */
	event_freep(&sigint);
	event_freep(&sigterm);
	return r;
}

static int start_file_helper(struct sockets *sockets, const struct options *o, struct err_text *e)
{
	struct file_helper_options helper = {.output_dir = o->output_dir,
					     .no_sandbox = o->no_sandbox};

	int r;

	sockets_pass_files_to_helper(sockets, &helper);
	if (helper.n_remove == 0 && !helper.output_dir)
		return 0; /* the sockets have no files: nothing to do */
	r = file_helper_start(&helper, e);
	sockets->files_are_given = r == 0;
	return r;
}

static int main_serve(const struct options *o)
{
	struct err_text e = {"out of memory"};
	struct event_base *loop = NULL;
	struct sockets sockets;
	int r;

	change_signal_mask(SIG_BLOCK);
	r = sockets_open(&sockets, &o->sockets, &e);
	if (r == 0 && o->background) {
		r = background_continue();
		if (r < 0)
			err_set(&e, r, "cannot run in the background: %s", strerror(-r));
	}
	if (r == 0)
		r = start_file_helper(&sockets, o, &e);
	if (r == 0) {
		loop = service_loop_new();
		r = loop ? main_run(loop, &sockets, o, &e) : -ENOMEM;
	}
	if (r < 0)
		log_error("%s", e.text);
	event_base_freep(&loop);
	file_helper_end();
	sockets_close(&sockets);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void print_help(FILE *out)
{
	fprintf(out,
		"usage: sondad [options]\n"
		"\n"
		"The tracing service: collects data from producers for consumers.\n"
		"\n"
		"  --background              detach once the sockets are open, and print the "
		"process id\n"
		"  --set-socket-permissions PGROUP:PMODE:CGROUP:CMODE\n"
		"                            group and mode of the producer sockets and of the\n"
		"                            consumer socket\n"
		"  --system-users USER,...   non-root users who may register data sources named\n"
		"                            linux.* or android.*\n"
		"  --extension-descriptors FILE\n"
		"                            descriptor set (optionally gzipped) to write at the "
		"start\n"
		"                            of each trace (repeatable)\n"
		"  --output-dir DIR          create output_path files below DIR; by default,\n"
		"                            configs with output_path are refused. Files for\n"
		"                            other users need CAP_CHOWN\n"
		"  --no-priority             keep the normal priority while sessions record; the\n"
		"                            default is SCHED_FIFO, using at most half of a CPU\n"
		"  --no-sandbox              do not drop capabilities or filter system calls; for "
		"use\n"
		"                            under a debugger\n"
		"  --version                 print the version\n"
		"  -h, --help                print this help\n"
		"\n"
		"Producers on other machines (see docs/reference/remote.md):\n"
		"  --allow-remote ADDRESS[/BITS],vsock://CID,...\n"
		"                            addresses that may connect to producer sockets on TCP "
		"and\n"
		"                            vsock; required for such sockets\n"
		"  --enable-relay-endpoint   accept relays on all producer sockets\n"
		"  --enable-relay-endpoint-on SOCKET\n"
		"                            accept relays on this producer socket "
		"(repeatable),\n"
		"                            for example a unix socket that ssh forwards\n"
		"\n"
		"Sockets: PATH or @ABSTRACT. Producer sockets may also be HOST:PORT or\n"
		"vsock://CID:PORT, and there may be several, separated by commas:\n"
		"  PERFETTO_PRODUCER_SOCK_NAME  %s\n"
		"  PERFETTO_CONSUMER_SOCK_NAME  %s\n",
		sock_default_producer(), sock_default_consumer());
}

static int parse_user(const char *text, uid_t *ret, struct err_text *e)
{
	const struct passwd *p;
	uint32_t number;

	if (str_to_u32(text, &number) == 0) {
		*ret = number;
		return 0;
	}
	p = getpwnam(text);
	if (!p)
		return err_set(e, -ENOENT, "user \"%.100s\" does not exist", text);
	*ret = p->pw_uid;
	return 0;
}

/* Adds the users of a list of names and numbers, separated by commas. Modifies the list. Returns 0,
 * or -errno and sets e. */
static int add_system_users(struct options *o, char *list, struct err_text *e)
{
	char *rest = NULL;
	int r = 0;

	for (char *u = strtok_r(list, ",", &rest); u && r == 0; u = strtok_r(NULL, ",", &rest)) {
		if (o->n_system_users == MAX_SYSTEM_USERS)
			return err_set(e, -E2BIG, "too many users; the limit is %d",
				       MAX_SYSTEM_USERS);
		r = parse_user(u, &o->system_users[o->n_system_users++], e);
	}
	return r;
}

/* Returns the exit code, or -1 to continue. */
static int main_handle_option(struct options *opts, int option)
{
	struct socket_options *s = &opts->sockets;
	struct err_text e = {""};

	switch (option) {
	case 'B':
		opts->background = true;
		return -1;
	case 'S':
		opts->no_sandbox = true;
		return -1;
	case 'o':
		opts->output_dir = optarg;
		return -1;
	case 'P':
		opts->no_priority = true;
		return -1;
	case 'e':
		if (extensions_load(&opts->extensions, optarg, &e) == 0)
			return -1;
		log_error("--extension-descriptors: %s", e.text);
		return EXIT_FAILURE;
	case 'p':
		s->has_permissions = true;
		if (socket_permissions_parse(optarg, s->permissions, &e) == 0)
			return -1;
		log_error("--set-socket-permissions: %s", e.text);
		return EXIT_USAGE;
	case 'a':
		if (remote_allow_add(&s->allow, optarg, &e) == 0)
			return -1;
		log_error("--allow-remote: %s", e.text);
		return EXIT_USAGE;
	case 'u':
		if (add_system_users(opts, optarg, &e) == 0)
			return -1;
		log_error("--system-users: %s", e.text);
		return EXIT_USAGE;
	case 'r':
		s->relay = true;
		return -1;
	case 'R':
		if (s->n_relay_on < MAX_SOCKETS) {
			s->relay_on[s->n_relay_on++] = optarg;
			return -1;
		}
		log_error("--enable-relay-endpoint-on: too many sockets; the limit is %d",
			  MAX_SOCKETS);
		return EXIT_USAGE;
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
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"background", no_argument, NULL, 'B'},
		{"allow-remote", required_argument, NULL, 'a'},
		{"extension-descriptors", required_argument, NULL, 'e'},
		{"enable-relay-endpoint", no_argument, NULL, 'r'},
		{"enable-relay-endpoint-on", required_argument, NULL, 'R'},
		{"set-socket-permissions", required_argument, NULL, 'p'},
		{"output-dir", required_argument, NULL, 'o'},
		{"no-priority", no_argument, NULL, 'P'},
		{"system-users", required_argument, NULL, 'u'},
		{"no-sandbox", no_argument, NULL, 'S'},
		{"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	static struct options opts;
	int o;

	fs_occupy_standard_descriptors();
	log_init("sondad");
	while ((o = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		int code = main_handle_option(&opts, o);

		if (code >= 0)
			return code;
	}
	if (optind < argc) {
		log_error("unexpected argument '%.80s'; see sondad --help", argv[optind]);
		return EXIT_USAGE;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* write(2) returns EFBIG instead */
	fs_raise_file_limit(MAX_FILES);
	load_system_extensions(&opts.extensions);
	o = main_serve(&opts);
	extensions_deinit(&opts.extensions);
	return o;
}
