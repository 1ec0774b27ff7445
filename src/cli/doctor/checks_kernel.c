/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel: what it was built with, what it allows, tracefs and other programs that trace with
 * it.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/doctor/doctor_check.h"

/* ---- tracefs, and other programs that trace with it ---- */

/* Checks access with the effective privileges. Returns 0 or -errno. */
static int check_access(const char *root, const char *name, int mode)
{
	char path[512];
	int r = fs_join(path, sizeof(path), root, name);

	if (r)
		return r;
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) ? -errno : 0;
}

const char *doctor_tracefs_root(const struct doctor_machine *m)
{
	for (const char *const *root = m->tracefs; *root; root++) {
		int r = check_access(*root, "instances", F_OK);

		/* Permission denied shows that something is mounted. */
		if (!r || r == -EACCES || r == -EPERM)
			return *root;
	}
	return NULL;
}

bool doctor_can_make_instances(const struct doctor_machine *m)
{
	const char *root = doctor_tracefs_root(m);
	int r = root ? check_access(root, "instances", W_OK | X_OK) : 0;

	return r == 0 || r == -EROFS;
}

static void report_no_tracefs(const struct doctor_machine *m, struct doctor_finding *f)
{
	const char *root = m->tracefs[0];
	char kernel[512];

	if (fs_exists(root)) {
		bool mounts = doctor_read_capabilities(m, 0, "CapEff") & (1ull << CAP_SYS_ADMIN);

		doctor_set_finding(f, mounts ? DOCTOR_LIMIT : DOCTOR_FAULT,
				   "tracefs is not mounted on %s%s", root,
				   mounts ? ": sonda-probes mounts it privately, but sonda cannot "
					    "list events or expand patterns"
					  : ": no kernel event can be recorded");
		doctor_set_remedy(f, "sudo mount -t tracefs tracefs %s", root);
	} else if (fs_join(kernel, sizeof(kernel), m->sys, "kernel") || !fs_exists(kernel)) {
		doctor_set_finding(
			f, DOCTOR_FAULT,
			"sysfs is not mounted on %s, so there is no tracefs: no kernel event "
			"can be recorded",
			m->sys);
		doctor_set_remedy(f, "sudo mount -t sysfs sysfs %s", m->sys);
	} else {
		doctor_set_finding(
			f, DOCTOR_FAULT,
			"%s does not exist: the kernel was built without CONFIG_FTRACE, and "
			"records no events",
			root);
		doctor_suggest(f, "apt", OTHER_KERNEL);
	}
}

void check_tracefs(struct doctor_machine *m, struct doctor_finding *f)
{
	const char *root = doctor_tracefs_root(m);
	int r;

	if (doctor_uses_service(m) && m->has_ftrace) {
		doctor_set_finding(f, DOCTOR_OK, "the service's sonda-probes has access");
		return;
	}
	if (!root) {
		report_no_tracefs(m, f);
		return;
	}
	r = check_access(root, "instances", W_OK | X_OK);
	if (r == -EROFS) {
		doctor_set_finding(
			f, DOCTOR_FAULT,
			"%s is mounted read-only: no tracefs instance can be created, and no "
			"kernel event recorded",
			root);
		doctor_set_remedy(f, "sudo mount -o remount,rw %s", root);
	} else if (r) {
		doctor_set_finding(f, DOCTOR_OK,
				   "mounted on %s; for access, see the 'rights' check", root);
	} else {
		doctor_set_finding(f, DOCTOR_OK, "mounted on %s; this user may create instances",
				   root);
	}
}

/* ---- other tracers ---- */

struct tracers {
	const char *root; /* tracefs, or an instance */
	struct strbuf text; /* what was found */
	struct err_text remedy; /* for the first tracer that was found */
	bool costly; /* a tracer other than nop is active */
};

/* Returns the number of events that are enabled in an instance. */
static size_t count_enabled_events(const char *root)
{
	struct strbuf text = {0};
	char path[512];
	size_t n = 0;

	if (!fs_join(path, sizeof(path), root, "set_event") && !fs_read_file(path, 4u << 20, &text))
		for (const char *p = text.s; p && (p = strchr(p, '\n')); p++)
			n++;
	strbuf_deinit(&text);
	return n;
}

/* Adds an instance in which a tracer or events are enabled to t. name: for the user; own: its
 * directory can be removed. */
static void add_instance_if_busy(struct tracers *t, const char *root, const char *name, bool own)
{
	char tracer[64];
	size_t events;

	if (doctor_read_line(root, "current_tracer", tracer, sizeof(tracer)))
		return;
	events = count_enabled_events(root);
	if (!strcmp(tracer, "nop") && !events)
		return;
	strbuf_printf(&t->text, "%s%s ", t->text.len ? ", " : "", name);
	if (strcmp(tracer, "nop")) {
		strbuf_printf(&t->text, "(tracer %s)", tracer);
		t->costly = true;
	} else {
		strbuf_printf(&t->text, "(%zu event%s)", events, events == 1 ? "" : "s");
	}
	if (t->remedy.text[0])
		return;
	if (strcmp(tracer, "nop"))
		err_set(&t->remedy, 0, "echo nop | sudo tee %s/current_tracer", root);
	else if (own)
		err_set(&t->remedy, 0, "sudo rmdir %s", root);
	else
		err_set(&t->remedy, 0, "echo | sudo tee %s/set_event", root);
}

static int on_instance(void *ctx, const char *name, unsigned char d_type)
{
	struct tracers *t = ctx;
	char path[512], shown[128];

	if (str_starts(name, "sonda-")) /* an instance of a recording, ours or not */
		return 0;
	snprintf(path, sizeof(path), "%s/instances/%s", t->root, name);
	snprintf(shown, sizeof(shown), "instance %.80s", name);
	add_instance_if_busy(t, path, shown, true);
	return 0;
}

/* ---- processes with open files ---- */

struct holders {
	const struct doctor_machine *m;
	const char *pid; /* the process that is examined */
	bool holds;
	struct strbuf text; /* for the user */
	struct strbuf pids; /* " 12 34" */
	unsigned n;
};

static int on_process_fd(void *ctx, const char *name, unsigned char d_type)
{
	struct holders *h = ctx;
	char path[512], target[256];
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s/fd/%s", h->m->proc, h->pid, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	/* An open directory, which some programs use as a lock, traces nothing. */
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return 0;
	for (const char *const *root = h->m->tracefs; *root; root++)
		h->holds = h->holds || (str_starts(target, *root) && target[strlen(*root)] == '/');
	return h->holds;
}

static int on_proc_entry(void *ctx, const char *name, unsigned char d_type)
{
	struct holders *h = ctx;
	char path[512], comm[32];

	if (!isdigit((unsigned char)name[0]))
		return 0;
	h->pid = name;
	h->holds = false;
	snprintf(path, sizeof(path), "%s/%s/fd", h->m->proc, name);
	fs_each(path, on_process_fd, h);
	if (!h->holds)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", h->m->proc, name);
	doctor_read_line(path, "comm", comm, sizeof(comm));
	if (str_starts(comm, "sonda"))
		return 0;
	strbuf_printf(&h->text, "%s%s (pid %s)", h->n++ ? ", " : "", comm, name);
	strbuf_printf(&h->pids, " %s", name);
	return h->n >= 4;
}

void check_tracers(struct doctor_machine *m, struct doctor_finding *f)
{
	struct tracers t = {.root = doctor_tracefs_root(m)};
	struct holders h = {.m = m};
	char path[512];

	if (!t.root || check_access(t.root, "instances", R_OK)) {
		doctor_set_finding(f, DOCTOR_OK, "unknown: this user cannot read tracefs");
		return;
	}
	add_instance_if_busy(&t, t.root, "the top level", false);
	if (!fs_join(path, sizeof(path), t.root, "instances"))
		fs_each(path, on_instance, &t);
	fs_each(m->proc, on_proc_entry, &h);
	if (!t.text.len && !h.text.len) {
		doctor_set_finding(f, DOCTOR_OK, "no other program is tracing the kernel");
	} else {
		doctor_set_finding(f, t.costly ? DOCTOR_LIMIT : DOCTOR_NOTE,
				   "other tracers are active: %s%s%s; sonda records in a private "
				   "instance, but their events add overhead",
				   t.text.len ? t.text.s : "",
				   t.text.len && h.text.len ? "; by " : "",
				   h.text.len ? h.text.s : "");
		if (h.pids.len)
			doctor_set_remedy(f, "sudo kill%s", h.pids.s);
		else
			doctor_set_remedy(f, "%s", t.remedy.text);
	}
	strbuf_deinit(&t.text);
	strbuf_deinit(&h.text);
	strbuf_deinit(&h.pids);
}

/* The oldest kernel on which the tests run. */
#define OLDEST_MAJOR 5
#define OLDEST_MINOR 10

void check_kernel(struct doctor_machine *m, struct doctor_finding *f)
{
	char release[128];

	if (doctor_read_line(m->proc, "sys/kernel/osrelease", release, sizeof(release)) ||
	    !str_is_release_from(release, 0, 0)) {
		doctor_set_finding(f, DOCTOR_FAULT,
				   "procfs is not mounted on %s: no process data can be recorded",
				   m->proc);
		doctor_set_remedy(f, "sudo mount -t proc proc %s", m->proc);
		return;
	}
	if (str_is_release_from(release, OLDEST_MAJOR, OLDEST_MINOR)) {
		doctor_set_finding(f, DOCTOR_OK, "Linux %s", release);
		return;
	}
	doctor_set_finding(
		f, DOCTOR_NOTE,
		"Linux %s is older than %d.%d, the oldest version that sonda is tested on", release,
		OLDEST_MAJOR, OLDEST_MINOR);
	doctor_suggest(f, "apt", OTHER_KERNEL);
}

/* ---- options ---- */

enum option_root { IN_TRACEFS, IN_PROC, IN_SYS };

/* An option of the kernel, and a file that exists only if the kernel has it. */
static const struct option {
	const char *name; /* CONFIG_... */
	enum option_root root;
	const char *file;
	const char *use; /* what needs it */
	const char *line; /* part of the line about what a recording lacks without it */
} options[] = {
	{"KPROBE_EVENTS", IN_TRACEFS, "kprobe_events", "--kprobe", "kprobe_events"},
	{"UPROBE_EVENTS", IN_TRACEFS, "uprobe_events", "--uprobe", "uprobe_events"},
	{"FTRACE_SYSCALLS", IN_TRACEFS, "events/raw_syscalls", "--syscalls", "raw_syscalls"},
	{"FUNCTION_GRAPH_TRACER", IN_TRACEFS, "set_graph_function", "--function-graph",
	 "enable_function_graph"},
	{"DYNAMIC_FTRACE", IN_TRACEFS, "available_filter_functions", "--function-filter",
	 "function_filters"},
	{"HIST_TRIGGERS", IN_TRACEFS, "events/sched/sched_switch/hist",
	 "throttle_rss_stat and suspend_resume in a config", "synthetic events"},
	{"BLK_DEV_IO_TRACE", IN_TRACEFS, "events/block", "disk", "block/"},
	{"PSI", IN_PROC, "pressure", "pressure counters", "/pressure"},
	{"TASK_IO_ACCOUNTING", IN_PROC, "self/io", "per-process I/O", "/io:"},
	{"CGROUPS", IN_PROC, "cgroups", "linux.cgroup_stats", "cgroup"},
	{"CPU_FREQ", IN_SYS, "devices/system/cpu/cpufreq", "CPU frequencies (none in most guests)",
	 "cpufreq"},
};

#define CONFIG_MAX_LINE 1024

/* Opens the list of the options of the running kernel, or returns NULL. gzopen(3) reads plain files
 * too. */
static gzFile open_kernel_config(const struct doctor_machine *m)
{
	char path[512], release[128];
	gzFile config;

	snprintf(path, sizeof(path), "%s/config.gz", m->proc);
	config = gzopen(path, "rb");
	if (config || doctor_read_line(m->proc, "sys/kernel/osrelease", release, sizeof(release)))
		return config;
	snprintf(path, sizeof(path), "%s/config-%s", m->boot, release);
	return gzopen(path, "rb");
}

/* Sets has[i] for each option that the config has. */
static void checks_kernel_read_config(gzFile config, bool has[static ARRAY_SIZE(options)])
{
	char line[CONFIG_MAX_LINE];

	while (gzgets(config, line, sizeof(line))) {
		line[strcspn(line, "=\n")] = '\0';
		for (size_t i = 0; i < ARRAY_SIZE(options); i++)
			if (str_starts(line, "CONFIG_") && !strcmp(line + 7, options[i].name))
				has[i] = true;
	}
}

static bool is_option_supported(const struct doctor_machine *m, const struct option *o,
				const char *tracefs)
{
	const char *root = o->root == IN_TRACEFS ? tracefs : o->root == IN_PROC ? m->proc : m->sys;
	char path[512];

	return !fs_join(path, sizeof(path), root, o->file) && fs_exists(path);
}

/* Finds out which options the kernel has: by their files, which are authoritative, else by its
 * config. Returns false if neither can be read. */
static bool find_kernel_options(const struct doctor_machine *m,
				bool has[static ARRAY_SIZE(options)])
{
	const char *tracefs = doctor_tracefs_root(m);
	bool sees = tracefs && access(tracefs, R_OK | X_OK) == 0;
	gzFile config = sees ? NULL : open_kernel_config(m);

	if (config)
		checks_kernel_read_config(config, has);
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (options[i].root != IN_TRACEFS || sees)
			has[i] = is_option_supported(m, &options[i], tracefs);
	if (config)
		gzclose(config);
	return sees || config;
}

void check_options(struct doctor_machine *m, struct doctor_finding *f)
{
	bool has[ARRAY_SIZE(options)] = {false};
	struct strbuf missing = {0};

	if (!find_kernel_options(m, has)) {
		doctor_set_finding(
			f, DOCTOR_NOTE,
			"unknown: this user can read neither tracefs nor the kernel's config");
		doctor_set_remedy(f, "sudo sonda doctor options");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (!has[i] && (!m->refused || strstr(m->refused, options[i].line)))
			strbuf_printf(&missing, "%sCONFIG_%s (%s)", missing.len ? ", " : "",
				      options[i].name, options[i].use);
	if (!missing.len) {
		doctor_set_finding(f, DOCTOR_OK, "the kernel has all options that recordings use");
	} else {
		doctor_set_finding(f, DOCTOR_LIMIT, "the kernel lacks %s", missing.s);
		doctor_suggest(f, "apt", OTHER_KERNEL);
	}
	strbuf_deinit(&missing);
}

/* ---- BPF ---- */

void check_btf(struct doctor_machine *m, struct doctor_finding *f)
{
	char path[512];

	if (!fs_join(path, sizeof(path), m->sys, "kernel/btf/vmlinux") && !access(path, R_OK)) {
		doctor_set_finding(f, DOCTOR_OK, "the kernel has BTF (%s)", path);
		return;
	}
	doctor_set_finding(f, DOCTOR_LIMIT,
			   "the kernel has no BTF (%s; CONFIG_DEBUG_INFO_BTF): your own BPF "
			   "programs may not load, and some eBPF counters lack details",
			   path);
	doctor_suggest(f, "apt", OTHER_KERNEL);
}

/* Creates a map and closes it. Returns 0 or -errno. */
static int create_test_map(void)
{
	union bpf_attr attr;
	long fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.max_entries = 1;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(uint32_t);
	fd = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	close((int)fd);
	return 0;
}

static void report_refused_bpf(const struct doctor_machine *m, int error, struct doctor_finding *f)
{
	char paranoid[16];

	if (error == -ENOSYS) {
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"the kernel has no bpf(2) (CONFIG_BPF_SYSCALL): linux.ebpf_counters "
			"records nothing");
		doctor_suggest(f, "apt", OTHER_KERNEL);
		return;
	}
	if (doctor_uses_service(m)) {
		doctor_set_finding(f, DOCTOR_OK,
				   "depends on the privileges of the service's sonda-probes");
		return;
	}
	doctor_read_line(m->proc, "sys/kernel/perf_event_paranoid", paranoid, sizeof(paranoid));
	doctor_set_finding(
		f, DOCTOR_LIMIT,
		"bpf(2): %s (perf_event_paranoid %s): linux.ebpf_counters needs CAP_BPF and "
		"CAP_PERFMON, or root",
		strerror(-error), paranoid);
	doctor_set_remedy(f, "sudo sonda record EVENT...");
}

/* Returns true if sonda-probes gets CAP_BPF and CAP_PERFMON from its executable file. CAP_SYS_ADMIN
 * contains both. */
static bool can_probes_use_bpf(void)
{
	uint64_t mask = doctor_probes_capabilities(), both = 1ull << CAP_BPF | 1ull << CAP_PERFMON;

	return mask & 1ull << CAP_SYS_ADMIN || (mask & both) == both;
}

void check_bpf(struct doctor_machine *m, struct doctor_finding *f)
{
	int r = create_test_map();
	char jit[16];

	if (r == -EPERM && can_probes_use_bpf())
		r = 0;
	if (r) {
		report_refused_bpf(m, r, f);
		return;
	}
	doctor_read_line(m->proc, "sys/net/core/bpf_jit_enable", jit, sizeof(jit));
	if (!strcmp(jit, "0")) {
		doctor_set_finding(
			f, DOCTOR_LIMIT,
			"BPF programs are interpreted, which makes linux.ebpf_counters slow");
		doctor_set_remedy(f, "sudo sysctl -w net.core.bpf_jit_enable=1");
	} else {
		doctor_set_finding(f, DOCTOR_OK,
				   "sonda-probes may use bpf(2) when run by this user");
	}
}
