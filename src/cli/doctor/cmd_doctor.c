/* SPDX-License-Identifier: Apache-2.0 */
/* sonda doctor: runs the checks and prints what they found. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/doctor/doctor_table.h"
#include "cli/terminal/verb.h"
#include "config/json.h"

static const char usage[] =
	"usage: sonda doctor [OPTION]... [CHECK]...\n\n"
	"Checks what a recording on this machine needs, and prints the command that mends what is\n"
	"wrong. Without CHECK it makes all checks; those that are in order take one line each.\n\n"
	"      --socket ADDRESS   address of the service's consumer socket\n"
	"      --strict           exit with 3 if something is limited\n"
	"      --json             print the findings as JSON\n"
	"  -q, --quiet            print only what is wrong\n"
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

static void put_member(const char *name, const char *text, struct strbuf *out)
{
	strbuf_printf(out, "%s\"%s\":", out->s[out->len - 1] == '{' ? "" : ",", name);
	json_print_string(text, out);
}

static void doctor_put_json(const char *name, const struct doctor_finding *f, struct strbuf *out)
{
	strbuf_puts(out, out->s[out->len - 1] == '[' ? "{" : ",{");
	put_member("check", name, out);
	put_member("verdict", verdicts[f->verdict], out);
	put_member("text", f->text.text, out);
	if (f->remedy.text[0])
		put_member("remedy", f->remedy.text, out);
	strbuf_putc(out, '}');
}

/* Returns true if the check is one of those that the user named, or none was named. */
static bool is_chosen(const char *name, const struct verb_options *o)
{
	for (size_t i = 0; i < o->n_words; i++)
		if (!strcmp(o->words[i], name))
			return true;
	return o->n_words == 0;
}

static int check_names(const struct verb_options *o)
{
	for (size_t i = 0; i < o->n_words; i++) {
		struct str_nearest nearest;
		bool known = false;

		str_nearest_init(&nearest, o->words[i]);
		for (size_t k = 0; k < doctor_n_checks; k++) {
			known |= !strcmp(o->words[i], doctor_checks[k].name);
			str_nearest_try(&nearest, doctor_checks[k].name);
		}
		if (known)
			continue;
		if (str_nearest_get(&nearest))
			log_error("doctor: unknown check '%s'; did you mean %s?", o->words[i],
				  str_nearest_get(&nearest));
		else
			log_error("doctor: unknown check '%s'; sonda doctor lists them",
				  o->words[i]);
		return EXIT_USAGE;
	}
	return EXIT_GOOD;
}

/* Runs the chosen checks. Returns the worst verdict of them. */
static enum doctor_verdict run_checks(const struct verb_options *o, struct strbuf *out)
{
	enum doctor_verdict worst = DOCTOR_OK;
	struct doctor_machine m;

	doctor_machine_init(&m);
	m.socket = o->socket;
	for (size_t i = 0; i < doctor_n_checks; i++) {
		const struct doctor_check *c = &doctor_checks[i];
		struct doctor_finding f = {0};

		/* Other checks depend on what the service answered. */
		if (!is_chosen(c->name, o) && c->run != check_service)
			continue;
		c->run(&m, &f);
		if (!is_chosen(c->name, o))
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
		code = check_names(&o) ? EXIT_USAGE : -1;
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
