/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of checks, its functions for other verbs, and sonda doctor, which prints what the
 * checks found.
 */
#include "cli/doctor/doctor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/doctor/doctor_check.h"
#include "cli/terminal/kernel_events.h"
#include "cli/terminal/programs.h"
#include "cli/terminal/verb.h"

struct doctor_check {
	const char *name; /* word of the command line: sonda doctor NAME */
	doctor_check_fn *run;
	/* Which recordings with private daemons a fault stops. */
	enum { STOPS_NOTHING, STOPS_KERNEL_EVENTS, STOPS_ALL } stops;
};

/* The checks in the order in which they are printed. The service is first, because other checks
 * depend on its answer. */
static const struct doctor_check doctor_checks[] = {
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
	{"crash", check_crash, STOPS_NOTHING},
};

/* Directories of the journal: without and with persistent storage. */
static const char *const journals[] = {"/run/log/journal", "/var/log/journal", NULL};

/* Sets m to this machine, the current directory, and the default service. */
static void doctor_machine_init(struct doctor_machine *m)
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

void doctor_set_finding(struct doctor_finding *f, enum doctor_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	f->verdict = verdict;
	va_start(ap, fmt);
	vsnprintf(f->text.text, sizeof(f->text.text), fmt, ap);
	va_end(ap);
}

void doctor_set_remedy(struct doctor_finding *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->remedy.text, sizeof(f->remedy.text), fmt, ap);
	va_end(ap);
}

void doctor_suggest(struct doctor_finding *f, const char *program, const char *command)
{
	char path[PATH_MAX];

	if (program_find(program, path, sizeof(path)) == 0)
		doctor_set_remedy(f, "%s", command);
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

/* Sets e to the finding and its remedy. Returns error. */
static int set_error_from_finding(const struct doctor_finding *f, int error, struct err_text *e)
{
	return err_set(e, error, "%s%s%s", f->text.text, f->remedy.text[0] ? "; run: " : "",
		       f->remedy.text);
}

int doctor_check_before_start(bool kernel_events, struct err_text *e)
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
			return set_error_from_finding(&f, -EACCES, e);
	}
	return 0;
}

bool doctor_daemons_have_capabilities(void)
{
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.service = DOCTOR_SERVICE_NONE;
	return doctor_recorder_capabilities(&m) != 0;
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
		return f.verdict >= DOCTOR_LIMIT ? set_error_from_finding(&f, -EACCES, e) : 0;
	}
	return 0;
}

int doctor_check_disk_space(const char *dir, struct err_text *e)
{
	struct doctor_finding f = {0};
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.dir = dir;
	check_disk(&m, &f);
	return f.verdict == DOCTOR_FAULT ? set_error_from_finding(&f, -ENOSPC, e) : 0;
}

/* ---- the verb ---- */

static const char usage[] =
	"usage: sonda doctor [OPTION]... [CHECK]...\n\n"
	"Checks what a recording on this machine needs, and prints the command that fixes each\n"
	"problem. Without CHECK, runs all checks; each one that passes takes one line.\n\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"      --strict           exit with status 3 if a check reports 'limit'\n"
	"      --json             print the findings as JSON\n"
	"  -q, --quiet            print only problems\n"
	"  -h, --help             print this help\n\n"
	"Exit codes: 0 kernel events can be recorded, 1 they cannot, 2 usage error, 3 see "
	"--strict.\n";

static const char *const verdicts[] = {
	[DOCTOR_OK] = "ok",
	[DOCTOR_NOTE] = "note",
	[DOCTOR_LIMIT] = "limit",
	[DOCTOR_FAULT] = "fault",
};

static void doctor_put_text(const char *name, const struct doctor_finding *f, struct strbuf *out)
{
	strbuf_printf(out, "%-6s %-10s %s\n", verdicts[f->verdict], name, f->text.text);
	if (f->remedy.text[0])
		strbuf_printf(out, "%-17s run: %s\n", "", f->remedy.text);
}

static void put_json_member(const char *name, const char *text, struct strbuf *out)
{
	strbuf_printf(out, "%s\"%s\":", out->s[out->len - 1] == '{' ? "" : ",", name);
	strbuf_put_json(out, text);
}

static void doctor_put_json(const char *name, const struct doctor_finding *f, struct strbuf *out)
{
	strbuf_puts(out, out->s[out->len - 1] == '[' ? "{" : ",{");
	put_json_member("check", name, out);
	put_json_member("verdict", verdicts[f->verdict], out);
	put_json_member("text", f->text.text, out);
	if (f->remedy.text[0])
		put_json_member("remedy", f->remedy.text, out);
	strbuf_putc(out, '}');
}

/* Returns true if the check is one of those that the user named, or none was named. */
static bool is_chosen_check(const char *name, const struct verb_options *o)
{
	for (size_t i = 0; i < o->n_words; i++)
		if (!strcmp(o->words[i], name))
			return true;
	return o->n_words == 0;
}

static int validate_check_names(const struct verb_options *o)
{
	for (size_t i = 0; i < o->n_words; i++) {
		struct str_nearest nearest;
		bool known = false;

		str_nearest_init(&nearest, o->words[i]);
		for (size_t k = 0; k < ARRAY_SIZE(doctor_checks); k++) {
			known |= !strcmp(o->words[i], doctor_checks[k].name);
			str_nearest_try(&nearest, doctor_checks[k].name);
		}
		if (known)
			continue;
		if (str_nearest_get(&nearest))
			log_error("doctor: unknown check '%s'; did you mean %s?", o->words[i],
				  str_nearest_get(&nearest));
		else
			log_error("doctor: unknown check '%s'; sonda doctor lists all checks",
				  o->words[i]);
		return EXIT_USAGE;
	}
	return EXIT_GOOD;
}

/* Runs the chosen checks and appends their findings. Returns the worst verdict. */
static enum doctor_verdict run_checks(const struct verb_options *o, struct strbuf *out)
{
	enum doctor_verdict worst = DOCTOR_OK;
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.socket = o->socket;
	for (size_t i = 0; i < ARRAY_SIZE(doctor_checks); i++) {
		const struct doctor_check *c = &doctor_checks[i];
		struct doctor_finding f = {0};

		/* Runs check_service() in any case, because other checks depend on what the service
		 * answered. */
		if (!is_chosen_check(c->name, o) && c->run != check_service)
			continue;
		c->run(&m, &f);
		if (!is_chosen_check(c->name, o))
			continue;
		worst = MAX(worst, f.verdict);
		if (o->json)
			doctor_put_json(c->name, &f, out);
		else if (!o->quiet || f.verdict != DOCTOR_OK)
			doctor_put_text(c->name, &f, out);
	}
	return worst;
}

int cmd_doctor(int argc, char **argv)
{
	enum doctor_verdict worst;
	struct strbuf out = {0};
	struct verb_options o;
	int code = verb_options_parse(argc, argv, "sqjx", 0, SIZE_MAX, usage, &o);

	if (code < 0)
		code = validate_check_names(&o) ? EXIT_USAGE : -1;
	if (code >= 0)
		return code;
	if (o.json)
		strbuf_puts(&out, "{\"checks\":[");
	worst = run_checks(&o, &out);
	if (o.json)
		strbuf_printf(&out, "],\"can_record\":%s}\n",
			      worst == DOCTOR_FAULT ? "false" : "true");
	code = worst == DOCTOR_FAULT		   ? EXIT_FAILED
	       : worst == DOCTOR_LIMIT && o.strict ? EXIT_LOSSY
						   : EXIT_GOOD;
	if (verb_print(&out) != EXIT_GOOD)
		code = EXIT_FAILED;
	strbuf_deinit(&out);
	return code;
}
