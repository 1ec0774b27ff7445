/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda-probes: the privileged producer. It registers its data sources with a tracing service and
 * runs them at the commands of the service until a signal ends it.
 *
 *	start      find tracefs, roll back what a killed predecessor left in it
 *	           connect to the service, register the sources, notify TRACED_PROBES_NOTIFY_FD
 *	loop       the producer (commands, commits) and the data sources (ring buffers, /proc)
 *	SIGTERM    and SIGINT, SIGHUP: stop every instance, restore tracefs
 *
 * Capabilities. Root has all; each can be granted separately:
 *	ftrace             CAP_DAC_OVERRIDE, or ownership of tracefs and its directory "instances"
 *	mounting tracefs   CAP_SYS_ADMIN; only if nothing is mounted
 *	priority           CAP_SYS_NICE: to read the ring buffers in time, and for priority_boost
 *	/proc of others    none if it is mounted without hidepid; else CAP_SYS_PTRACE, or
 *	                   CAP_SETGID if a group sees them
 *	names of threads   none; with CAP_NET_ADMIN many names are read with one request
 *	names of symbols   CAP_SYSLOG; with kptr_restrict 2 also CAP_SYS_ADMIN, to lower it
 *	files of others    CAP_DAC_READ_SEARCH: the journal
 *	eBPF counters      CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN
 *	call stacks        CAP_PERFMON; names of functions of others CAP_SYS_PTRACE and
 *	                   CAP_DAC_READ_SEARCH, of deleted files CAP_CHECKPOINT_RESTORE
 * All other capabilities are dropped at the start. Each data source names those that it uses; they
 * are effective while it runs (probes/sandbox.h). A missing capability is logged once, and other
 * data sources continue.
 */
#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "base/core/version.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/event_loop/time_slice.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/system/notify.h"
#include "base/system/outside_reads.h"
#include "base/system/priority_boost.h"
#include "base/text/str.h"
#include "client/producer/metadata_bus.h"
#include "client/producer/producer.h"
#include "ftrace/session/data_sources.h"
#include "probes/data_sources.h"
#include "probes/sandbox.h"
#include "probes/tracefs.h"

#define VERSION "sonda-probes " SONDA_VERSION
/* The producer name that existing trace configs use: producer_name_filter,
 * producers[].producer_name. */
#define PRODUCER_NAME "perfetto.traced_probes"

#define BPF_ROOT "/etc/sonda/bpf.d" /* directory of user programs; owned by root */

#define MAX_FILES 65536 /* each session opens a ring buffer for each CPU */
#define LARGE_BLOCK (128 << 10) /* bytes */
#define START_WAIT_MS 5000 /* then the start of the unit ends without a service */

static const int termination_signals[] = {SIGTERM, SIGINT, SIGHUP};

struct probes {
	const char *bpf_root; /* borrowed from the arguments */
	bool trusts_consumers;
	char state[256]; /* directory of the undo logs, or empty */
	struct event_base *loop; /* owned, as are the rest */
	struct metadata_bus *bus;
	struct producer *producer;
	struct event *signals[ARRAY_SIZE(termination_signals)];
	struct priority_boost_state boost;
	bool no_priority;
	bool priority_logged; /* the priority, or the failure to set it, was logged */
	struct notify notify; /* notified when all data sources are registered */
	struct event *start_timer; /* fires if that takes longer than START_WAIT_MS */
};

static void print_usage(FILE *out)
{
	fputs("usage: sonda-probes [--verbose] [--bpf-dir DIR] [--no-priority] "
	      "[--trust-consumers]\n"
	      "\n"
	      "Registers this machine's data sources with the tracing service and serves them\n"
	      "until stopped by a signal. Data sources:\n"
	      "\n",
	      out);
	for (const struct data_source *const *s = probes_data_sources; *s; s++)
		fprintf(out, "  %s\n", (*s)->name);
	fputs("\n"
	      "  -b, --bpf-dir DIR\n"
	      "                        directory of NAME.bpf.o, for programs in\n"
	      "                        ebpf_counters_config; default " BPF_ROOT "\n"
	      "  -p, --no-priority     keep the normal scheduling priority; by default, the\n"
	      "                        kernel's ring buffers are read at SCHED_FIFO, using at\n"
	      "                        most half of a CPU\n"
	      "  -t, --trust-consumers\n"
	      "                        treat each consumer as root: accept any probe\n"
	      "                        definition, which can read and change kernel and program\n"
	      "                        memory. Perfetto's traced does not report a consumer's\n"
	      "                        user; without this option, none of its consumers is\n"
	      "                        treated as root\n"
	      "  -v, --verbose         log details\n"
	      "  -V, --version         print the version\n"
	      "  -h, --help            print this help\n"
	      "\n"
	      "Environment:\n"
	      "  PERFETTO_PRODUCER_SOCK_NAME\n"
	      "                        socket of the service; default\n"
	      "                        /run/perfetto/traced-producer.sock (on Android\n"
	      "                        /dev/socket/traced_producer), or\n"
	      "                        /tmp/perfetto-producer for users other than root if\n"
	      "                        /run/perfetto does not exist\n"
	      "  SONDA_SERVICE_USER    another user that the service may run as, besides root,\n"
	      "                        this user and the owner of /run/perfetto\n"
	      "  TRACED_PROBES_NOTIFY_FD\n"
	      "                        descriptor to which \"1\" is written when all data sources\n"
	      "                        are registered; systemd is notified as well (Type=notify),\n"
	      "                        after 5 s at the latest\n",
	      out);
}

/* Returns the exit code, or -1 to continue. */
static int parse_options(struct probes *p, int argc, char **argv)
{
	static const struct option options[] = {
		{"bpf-dir", required_argument, NULL, 'b'},
		{"no-priority", no_argument, NULL, 'p'},
		{"trust-consumers", no_argument, NULL, 't'},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};

	for (;;) {
		switch (getopt_long(argc, argv, "b:ptvVh", options, NULL)) {
		case 'b':
			p->bpf_root = optarg;
			break;
		case 't':
			p->trusts_consumers = true;
			break;
		case 'p':
			p->no_priority = true;
			break;
		case 'v':
			log_set_level(LOG_LEVEL_DEBUG);
			break;
		case 'V':
			puts(VERSION);
			return EXIT_SUCCESS;
		case 'h':
			print_usage(stdout);
			return EXIT_SUCCESS;
		case -1:
			if (optind == argc)
				return -1;
			log_error("unexpected argument '%s'; see --help", argv[optind]);
			return 2;
		default: /* getopt has logged the wrong option */
			return 2;
		}
	}
}

/* Finds the directory of the undo logs. Like the settings of tracefs, it does not survive a boot.
 * Only the user of this process may write to it. Leaves path unchanged if there is none. */
static void find_undo_dir(char *path, size_t size)
{
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (geteuid() == 0 && fs_exists("/run"))
		snprintf(path, size, "/run/sonda");
	else if (geteuid() != 0 && own && *own == '/' && strlen(own) < size - strlen("/sonda"))
		snprintf(path, size, "%s/sonda", own);
}

static void restore_tracefs(const char *dir, const char *state)
{
	char count[STR_COUNT_SIZE];
	int r = *state ? ftrace_undo_stale_overrides(dir, state) : 0;

	if (r > 0)
		log_info("restored the original tracefs settings in %s after a process was killed",
			 str_count((uint64_t)r, "directory", count));
	else if (r < 0)
		log_warn("%s: %s", state, strerror(-r));
	r = ftrace_remove_stale_instances(dir);
	if (r > 0)
		log_info("removed %d tracefs instance%s left behind by a killed process", r,
			 r == 1 ? "" : "s");
	else if (r < 0)
		log_warn("%s/instances: %s", dir, strerror(-r));
}

/* Returns NULL if there is no ftrace; the reason was logged. */
static const char *prepare_tracefs(const char *state)
{
	const char *dir = NULL;
	struct err_text e;
	int r;

	/* Before tracefs_find() tries other mount points: an access below debugfs mounts tracefs
	 * for all processes, and that mount stays. */
	r = tracefs_mount_private(tracefs_dirs[0]);
	if (r == 0)
		log_info("mounted tracefs on %s, visible to this process only", tracefs_dirs[0]);
	else if (r != -EEXIST)
		log_debug("cannot mount tracefs on %s: %s", tracefs_dirs[0], strerror(-r));
	(void)tracefs_find(tracefs_dirs, &e, &dir);
	if (!dir) {
		log_warn("linux.ftrace is off: %s", e.text);
		return NULL;
	}
	restore_tracefs(dir, state);
	return dir;
}

static void main_on_connected(void *ctx)
{
	struct probes *p = ctx;
	struct err_text e;

	log_debug("connected; all data sources are registered");
	evtimer_del(p->start_timer);
	if (notify_ready(&p->notify, &e) < 0)
		log_warn("%s", e.text);
}

/* Ends the start of the unit for systemd if the service has not answered in time: neither that nor
 * a relay whose service is unreachable may fail the start. */
static void on_start_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct probes *p = ctx;
	struct err_text e;

	(void)fd, (void)what;
	if (notify_systemd(&p->notify, "waiting for the tracing service", &e) < 0)
		log_warn("%s", e.text);
}

static void main_on_waiting(void *ctx, const char *socket)
{
	log_info("no tracing service listens on %s; waiting for sondad to start", socket);
}

static void main_on_disconnected(void *ctx)
{
	log_info("disconnected from the tracing service; all recordings ended; reconnecting");
}

static void main_on_error(void *ctx, const char *sentence)
{
	log_warn("%s", sentence);
}

/* Sets the priority of this thread and of the child that reads files (outside_reads.h). */
static int apply_boost(struct probes *p, struct priority_boost boost)
{
	outside_reads_boost(boost);
	return priority_boost_apply(&p->boost, boost);
}

/* Sets the priority for reading rings in time, if no config requests a stronger boost. */
static void apply_default_boost(struct probes *p)
{
	int r = apply_boost(p, (struct priority_boost){PRIORITY_BOOST_BUDGETED, 0});

	if (p->priority_logged)
		return;
	p->priority_logged = true;
	if (r < 0)
		log_warn("cannot set the priority for reading the kernel's ring buffers: %s "
			 "(CAP_SYS_NICE is required); a busy machine may lose events",
			 strerror(-r));
	else
		log_info("the kernel's ring buffers are read with %s (--no-priority: priority "
			 "unchanged)",
			 priority_boost_describe_current().text);
}

/* Applies the strongest priority boost that a running recording requests. Logs a failure. */
static void on_boost(void *ctx, struct priority_boost strongest)
{
	static const struct priority_boost none = {PRIORITY_BOOST_NONE, 0};
	struct probes *p = ctx;
	int r;

	outside_reads_set_timely(strongest.policy != PRIORITY_BOOST_NONE);
	if (strongest.policy == PRIORITY_BOOST_BUDGETED && !p->no_priority) {
		apply_default_boost(p);
		return;
	}
	r = apply_boost(p, strongest.policy == PRIORITY_BOOST_BUDGETED ? none : strongest);
	if (r < 0 && strongest.policy == PRIORITY_BOOST_NONE)
		log_warn("cannot end priority_boost: %s", strerror(-r));
	else if (r < 0)
		log_warn("priority_boost: %s %u: %s%s; recording without it",
			 strongest.policy == PRIORITY_BOOST_FIFO ? "POLICY_SCHED_FIFO"
								 : "POLICY_SCHED_OTHER",
			 strongest.priority, strerror(-r),
			 r == -EPERM || r == -EACCES ? " (CAP_SYS_NICE is required)" : "");
}

static void on_end_signal(evutil_socket_t number, short what, void *ctx)
{
	struct probes *p = ctx;

	log_debug("%s: stopping", strsignal(number));
	event_base_loopbreak(p->loop);
}

/* Sets the signal handlers. SIGPIPE is ignored, because write() reports a lost peer. */
static int handle_signals(struct probes *p)
{
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < ARRAY_SIZE(termination_signals); i++) {
		p->signals[i] = evsignal_new(p->loop, termination_signals[i], on_end_signal, p);
		if (!p->signals[i] || event_add(p->signals[i], NULL) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void on_capabilities(void *ctx, uint64_t mask)
{
	sandbox_set_capabilities(mask);
}

static int connect_to_service(struct probes *p, const char *tracefs)
{
	const struct producer_options options = {
		.name = PRODUCER_NAME,
		.scraping = true, /* written data is kept if we are killed */
		.sources = probes_data_sources,
		.env =
			{
				.loop = p->loop,
				.bus = p->bus,
				.trusts_consumers = p->trusts_consumers,
				.proc_root = "/proc",
				.sys_root = "/sys",
				.bpf_root = p->bpf_root,
				.tracefs_root = tracefs,
				.state_root = *p->state ? p->state : NULL,
			},
		.on_connected = main_on_connected,
		.on_waiting = main_on_waiting,
		.on_disconnected = main_on_disconnected,
		.on_error = main_on_error,
		.on_boost = on_boost,
		.on_capabilities = on_capabilities,
		.ctx = p,
	};

	return producer_new(&options, &p->producer);
}

/* Returns a loop whose events have three priorities. The middle one is the usual one. The last one
 * is for work that waits until nothing else is to be done; one callback of it runs per turn of the
 * loop. */
static struct event_base *event_loop_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *loop = NULL;

	if (config && event_config_set_max_dispatch_interval(config, NULL, 1, 2) == 0)
		loop = event_base_new_with_config(config);
	if (config)
		event_config_free(config);
	if (loop && event_base_priority_init(loop, 3) < 0)
		event_base_freep(&loop);
	return loop;
}

static int probes_init(struct probes *p)
{
	struct sandbox_paths paths = {.state = *p->state ? p->state : NULL};
	struct err_text e;
	int r;

	paths.tracefs = prepare_tracefs(p->state);
	r = sandbox_enter(&paths, &e);
	if (r < 0) {
		log_error("%s", e.text);
		return r;
	}
	p->loop = event_loop_new();
	p->bus = metadata_bus_new();
	if (!p->loop || !p->bus)
		return -ENOMEM;
	p->start_timer = evtimer_new(p->loop, on_start_timer, p);
	if (!p->start_timer ||
	    (p->notify.systemd >= 0 && event_timer_ms(p->start_timer, START_WAIT_MS) < 0))
		return -ENOMEM;
	r = handle_signals(p);
	return r < 0 ? r : connect_to_service(p, paths.tracefs);
}

/* The producer is freed first, which stops its instances while everything that they use exists. */
static void probes_deinit(struct probes *p)
{
	producer_free(p->producer);
	p->bus = metadata_bus_free(p->bus);
	for (size_t i = 0; i < ARRAY_SIZE(p->signals); i++)
		event_freep(&p->signals[i]);
	event_freep(&p->start_timer);
	event_base_freep(&p->loop);
	notify_close(&p->notify);
}

/* Raises the limit of locked memory: before Linux 5.11 it includes the memory of BPF maps, and even
 * root may have only a few MB. If the limit cannot be raised, loading a program fails with an
 * error. */
static void allow_locked_memory(void)
{
	const struct rlimit any = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};

	setrlimit(RLIMIT_MEMLOCK, &any);
}

/* Makes the C library map large blocks, so that free() returns their memory to the kernel, also in
 * the helper processes. By default, it would allocate later large blocks on the heap, where small
 * blocks behind them would keep them. */
static void set_mmap_threshold(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
#endif
}

/* Runs until a signal breaks the loop. */
static void run_until_signal(struct probes *p)
{
	do {
		time_slice_loop_iteration();
		priority_boost_tick(&p->boost);
	} while (event_base_loop(p->loop, EVLOOP_ONCE) == 0 && !event_base_got_break(p->loop));
}

int main(int argc, char **argv)
{
	struct probes p = {.bpf_root = BPF_ROOT};
	struct err_text e;
	int code, r;

	fs_occupy_standard_descriptors();
	log_init("sonda-probes");
	code = parse_options(&p, argc, argv);
	if (code >= 0)
		return code;
	fs_raise_file_limit(MAX_FILES);
	allow_locked_memory();
	set_mmap_threshold();
	find_undo_dir(p.state, sizeof(p.state));
	priority_boost_init();
	if (notify_open(&p.notify, "TRACED_PROBES_NOTIFY_FD", &e) < 0)
		log_warn("%s", e.text);
	r = probes_init(&p);
	if (r == 0)
		run_until_signal(&p);
	else
		log_error("cannot start: %s", strerror(-r));
	probes_deinit(&p);
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
