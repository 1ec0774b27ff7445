/* SPDX-License-Identifier: Apache-2.0 */
/* The tracing service, its programs, and the users who may use them. */

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "cli/doctor/doctor_check.h"
#include "cli/terminal/programs.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"

/* ---- the service ---- */

/* Sets has_ftrace and probes by the producer that offers linux.ftrace. */
static void find_ftrace_producer(struct doctor_machine *m, const Pb__TracingServiceState *s)
{
	for (size_t i = 0; i < s->n_data_sources; i++) {
		const Pb__TracingServiceState__DataSource *d = s->data_sources[i];

		if (d->left_out || !d->ds_descriptor || !d->ds_descriptor->name ||
		    strcmp(d->ds_descriptor->name, "linux.ftrace") != 0)
			continue;
		m->has_ftrace = true;
		for (size_t k = 0; k < s->n_producers; k++)
			if (s->producers[k]->id == d->producer_id && !s->producers[k]->machine_id)
				m->probes = s->producers[k]->pid;
	}
}

static void report_service(struct doctor_machine *m, const char *address,
			   const Pb__TracingServiceState *s, struct doctor_finding *f)
{
	const char *version = s->tracing_service_version;

	m->service = DOCTOR_SERVICE_USABLE;
	find_ftrace_producer(m, s);
	doctor_set_finding(f, DOCTOR_OK, "%.80s listens on %s; this user may record with it",
			   version ? version : "a tracing service", address);
}

static void report_no_service(struct doctor_machine *m, const char *address, int error,
			      const struct err_text *e, struct doctor_finding *f)
{
	struct err_text text, remedy;

	if ((error == -ENOENT || error == -ECONNREFUSED) && !m->socket) {
		m->service = DOCTOR_SERVICE_NONE;
		doctor_set_finding(
			f, DOCTOR_OK,
			"no tracing service listens on %s: sonda record starts one for each "
			"recording",
			address);
		return;
	}
	m->service = DOCTOR_SERVICE_UNUSABLE;
	if (service_describe_problem(address, error, &text, &remedy)) {
		doctor_set_finding(f, DOCTOR_FAULT, "%s", text.text);
		doctor_set_remedy(f, "%s", remedy.text);
		return;
	}
	doctor_set_finding(f, DOCTOR_FAULT, "%s", e->text);
}

void check_service(struct doctor_machine *m, struct doctor_finding *f)
{
	const char *address = m->socket ? m->socket : sock_default_consumer();
	struct session_client *client = NULL;
	Pb__TracingServiceState *state;
	struct err_text e;
	int r = session_client_open(m->socket, &client, &e);

	if (!r)
		r = session_client_query(client, false, &state, &e);
	if (r) {
		report_no_service(m, address, r, &e, f);
	} else {
		report_service(m, address, state, f);
		pb__tracing_service_state__free_unpacked(state, NULL);
	}
	session_client_free(client);
}

void check_probes(struct doctor_machine *m, struct doctor_finding *f)
{
	if (m->service != DOCTOR_SERVICE_USABLE) {
		doctor_set_finding(f, DOCTOR_OK, "unknown without a service");
	} else if (m->has_ftrace && m->probes) {
		doctor_set_finding(f, DOCTOR_OK, "sonda-probes (pid %d) provides linux.ftrace",
				   m->probes);
	} else if (m->has_ftrace) {
		doctor_set_finding(f, DOCTOR_OK, "a producer provides linux.ftrace");
	} else {
		doctor_set_finding(
			f, DOCTOR_FAULT,
			"no connected producer provides linux.ftrace: no kernel event can "
			"be recorded");
		doctor_set_remedy(f, "%s", service_probes_start_command());
	}
}

void check_programs(struct doctor_machine *m, struct doctor_finding *f)
{
	static const char *const names[] = {"sondad", "sonda-probes"};
	char path[512];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct err_text e;

		if (!program_find_daemon(names[i], path, sizeof(path), &e))
			continue;
		doctor_set_finding(f,
				   m->service == DOCTOR_SERVICE_USABLE ? DOCTOR_NOTE : DOCTOR_FAULT,
				   "%s", e.text);
		doctor_set_remedy(f, "sudo make install");
		return;
	}
	doctor_set_finding(f, DOCTOR_OK, "sondad and sonda-probes are installed (%s)", path);
}

/* ---- rights ---- */

/* The capabilities for everything that sonda-probes records, in the syntax of setcap(8). */
#define GIVEN_CAPABILITIES                                                                         \
	"cap_dac_override,cap_dac_read_search,cap_bpf,cap_perfmon,cap_syslog,cap_sys_ptrace,"      \
	"cap_sys_nice,cap_net_admin+ep"

static const struct capability {
	unsigned number;
	const char *name;
	const char *use;
} capabilities[] = {
	{CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE", "kernel events"},
	{CAP_BPF, "CAP_BPF", "eBPF counters"},
	{CAP_PERFMON, "CAP_PERFMON", "eBPF counters"},
	{CAP_SYSLOG, "CAP_SYSLOG", "kernel function names"},
	{CAP_SYS_PTRACE, "CAP_SYS_PTRACE", "details of other users' processes"},
	{CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH",
	 "the journal, details of other users' processes"},
	{CAP_SYS_NICE, "CAP_SYS_NICE", "real-time priority of the reader"},
	{CAP_NET_ADMIN, "CAP_NET_ADMIN", "faster reading of thread names"},
};

uint64_t doctor_read_capabilities(const struct doctor_machine *m, pid_t pid, const char *line)
{
	struct strbuf text = {0};
	char path[512], label[32];
	uint64_t mask = 0;
	const char *at;

	if (pid)
		snprintf(path, sizeof(path), "%s/%d/status", m->proc, (int)pid);
	else
		snprintf(path, sizeof(path), "%s/self/status", m->proc);
	snprintf(label, sizeof(label), "\n%s:", line);
	if (!fs_read_file(path, 1u << 16, &text) && text.s && (at = strstr(text.s, label)))
		mask = str_leading_u64(at + strlen(label), 16);
	strbuf_deinit(&text);
	return mask;
}

/* Returns a capability that contains this one; the same one if there is none. */
static unsigned get_including_capability(unsigned number)
{
	switch (number) {
	case CAP_BPF:
	case CAP_PERFMON:
		return CAP_SYS_ADMIN;
	case CAP_DAC_READ_SEARCH:
		return CAP_DAC_OVERRIDE;
	}
	return number;
}

/* Appends the capabilities that the mask lacks. */
static void put_missing_capabilities(uint64_t mask, struct strbuf *b)
{
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		const struct capability *c = &capabilities[i];

		if (mask & (1ull << c->number) ||
		    mask & (1ull << get_including_capability(c->number)))
			continue;
		strbuf_printf(b, "%s%s (%s)", b->len ? ", " : "", c->name, c->use);
	}
}

static void report_missing_capabilities(const char *who, uint64_t mask, const char *remedy,
					struct doctor_finding *f)
{
	struct strbuf lacking = {0};

	put_missing_capabilities(mask, &lacking);
	if (!lacking.len) {
		doctor_set_finding(f, DOCTOR_OK, "%s has all capabilities it needs", who);
	} else {
		doctor_set_finding(f, DOCTOR_LIMIT, "%s lacks %s", who, lacking.s);
		doctor_set_remedy(f, "%s", remedy);
	}
	strbuf_deinit(&lacking);
}

static const char *user_name(uid_t uid, char buf[static 64])
{
	const struct passwd *p = getpwuid(uid);

	if (p)
		snprintf(buf, 64, "%.40s (uid %u)", p->pw_name, (unsigned)uid);
	else
		snprintf(buf, 64, "uid %u", (unsigned)uid);
	return buf;
}

/* Reports that this user may not record events and that no service is running. The remedy is a
 * service. */
static void report_refused_user(const struct doctor_machine *m, const char *root,
				struct doctor_finding *f)
{
	char user[64];

	doctor_set_finding(
		f, DOCTOR_FAULT,
		"%s may not create instances in %s, so kernel events cannot be recorded; "
		"this requires root, the group of a running service, or "
		"CAP_DAC_OVERRIDE (with CAP_BPF and "
		"CAP_PERFMON for eBPF counters)",
		user_name(m->uid, user), root);
	doctor_set_remedy(f, "%s", service_permission_command());
}

/* Reports the rights of a sonda-probes to which setcap(8) gave capabilities. */
static void report_given_capabilities(const char *path, uint64_t mask, bool may_make,
				      struct doctor_finding *f)
{
	struct err_text remedy;

	err_set(&remedy, 0, "sudo setcap " GIVEN_CAPABILITIES " %s", path);
	if (may_make || mask & 1ull << CAP_DAC_OVERRIDE) {
		report_missing_capabilities(path, mask, remedy.text, f);
		return;
	}
	doctor_set_finding(
		f, DOCTOR_FAULT,
		"%s has capabilities, but not CAP_DAC_OVERRIDE, which kernel events need", path);
	doctor_set_remedy(f, "%s", remedy.text);
}

uint64_t doctor_probes_capabilities(void)
{
	char path[512];

	return program_find_daemon("sonda-probes", path, sizeof(path), NULL)
		       ? 0
		       : program_capabilities(path);
}

uint64_t doctor_recorder_capabilities(const struct doctor_machine *m)
{
	if (doctor_uses_service(m))
		return m->probes ? doctor_read_capabilities(m, m->probes, "CapPrm") : 0;
	return doctor_read_capabilities(m, 0, "CapEff") |
	       (m->uid == 0 ? 0 : doctor_probes_capabilities());
}

void check_rights(struct doctor_machine *m, struct doctor_finding *f)
{
	uint64_t given = m->uid == 0 ? 0 : doctor_probes_capabilities();
	bool may_make = doctor_can_make_instances(m);
	char path[512], user[64];

	if (doctor_uses_service(m)) {
		uint64_t mask = doctor_recorder_capabilities(m);

		if (mask)
			report_missing_capabilities(
				"the service's sonda-probes", mask,
				"systemctl show sonda-probes -p CapabilityBoundingSet", f);
		else
			doctor_set_finding(f, DOCTOR_OK,
					   "depends on the privileges of the service's producers");
		return;
	}
	if (given && !program_find_daemon("sonda-probes", path, sizeof(path), NULL))
		report_given_capabilities(path, given, may_make, f);
	else if (!may_make)
		report_refused_user(m, doctor_tracefs_root(m), f);
	else
		report_missing_capabilities(
			user_name(m->uid, user), doctor_read_capabilities(m, 0, "CapEff"),
			"grep Cap /proc/self/status  # and start this shell with them", f);
}
