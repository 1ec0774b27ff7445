/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/doctor/doctor_table.h"
#include "cli/terminal/kernel_events.h"

/* In the order in which they are printed. The service is first: others depend on its answer. */
const struct doctor_check doctor_checks[] = {
	{"service", check_service, STOPS_NOTHING},
	{"probes", check_probes, STOPS_NOTHING},
	{"kernel", check_kernel, STOPS_ALL},
	{"programs", check_programs, STOPS_ALL},
	{"tracefs", check_tracefs, STOPS_KERNEL_EVENTS},
	{"lockdown", check_lockdown, STOPS_KERNEL_EVENTS},
	{"container", check_container, STOPS_KERNEL_EVENTS},
	{"selinux", check_selinux, STOPS_KERNEL_EVENTS},
	{"apparmor", check_apparmor, STOPS_KERNEL_EVENTS},
	{"rights", check_rights, STOPS_KERNEL_EVENTS},
	{"options", check_options, STOPS_NOTHING},
	{"btf", check_btf, STOPS_NOTHING},
	{"bpf", check_bpf, STOPS_NOTHING},
	{"symbols", check_symbols, STOPS_NOTHING},
	{"stacks", check_stacks, STOPS_NOTHING},
	{"files", check_files, STOPS_NOTHING},
	{"journal", check_journal, STOPS_NOTHING},
	{"tracers", check_tracers, STOPS_NOTHING},
	{"clock", check_clock, STOPS_NOTHING},
	{"disk", check_disk, STOPS_NOTHING},
	{"memory", check_memory, STOPS_NOTHING},
};
const size_t doctor_n_checks = ARRAY_SIZE(doctor_checks);

/* Folders of the journal: without and with persistent storage. */
static const char *const journals[] = {"/run/log/journal", "/var/log/journal", NULL};

void doctor_machine_init(struct doctor_machine *m)
{
	*m = (struct doctor_machine){
		.proc = "/proc",
		.sys = "/sys",
		.boot = "/boot",
		.dir = ".",
		.tracefs = tracefs_roots,
		.journals = journals,
		.uid = geteuid(),
	};
}

void doctor_find(struct doctor_finding *f, enum doctor_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	f->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(f->text.text, sizeof(f->text.text), fmt, ap);
	va_end(ap);
}

void doctor_mend(struct doctor_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy.text, sizeof(f->remedy.text), fmt, ap);
	va_end(ap);
}

int doctor_read_line(const char *root, const char *name, char *buf, size_t size)
{
	struct strbuf text = {0};
	char path[512];
	int r = fs_join(path, sizeof(path), root, name);

	buf[0] = '\0';
	if (!r)
		r = fs_read_file(path, 1u << 20, &text);
	if (!r && text.s) {
		text.s[strcspn(text.s, "\n")] = '\0';
		str_make_plain(text.s, strlen(text.s), "");
		snprintf(buf, size, "%s", text.s);
	}
	strbuf_deinit(&text);
	return r;
}

bool doctor_uses_service(const struct doctor_machine *m)
{
	return m->service == DOCTOR_SERVICE_USABLE;
}

/* Sets e to the sentence of a finding. */
static int explain(const struct doctor_finding *f, int error, struct err_text *e)
{
	return err_set(e, error, "%s%s%s", f->text.text, f->remedy.text[0] ? "; run: " : "",
		       f->remedy.text);
}

int doctor_may_start(bool kernel_events, struct err_text *e)
{
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.service = DOCTOR_SERVICE_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(doctor_checks); i++) {
		struct doctor_finding f = {0};

		if (doctor_checks[i].stops < (kernel_events ? STOPS_KERNEL_EVENTS : STOPS_ALL))
			continue;
		doctor_checks[i].run(&m, &f);
		if (f.verdict == DOCTOR_FAULT)
			return explain(&f, -EACCES, e);
	}
	return 0;
}

int doctor_explain(const char *check, bool own_daemons, const char *socket, const char *refused,
		   struct err_text *e)
{
	struct doctor_finding f = {0};
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.socket = socket;
	m.refused = refused;
	if (own_daemons)
		m.service = DOCTOR_SERVICE_NONE;
	else
		check_service(&m, &f);
	for (size_t i = 0; i < ARRAY_SIZE(doctor_checks); i++) {
		if (strcmp(doctor_checks[i].name, check) != 0)
			continue;
		f = (struct doctor_finding){0};
		doctor_checks[i].run(&m, &f);
		return f.verdict >= DOCTOR_LIMIT ? explain(&f, -EACCES, e) : 0;
	}
	return 0;
}

int doctor_has_room(const char *dir, struct err_text *e)
{
	struct doctor_finding f = {0};
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.dir = dir;
	check_disk(&m, &f);
	return f.verdict == DOCTOR_FAULT ? explain(&f, -ENOSPC, e) : 0;
}
