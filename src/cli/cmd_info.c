/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sonda info: prints the summary of a trace file, the same that sonda record and stop print at the
 * end of a session. No other verb prints it for a session that wrote its file and ended by itself.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/system/log.h"
#include "cli/report/verb_summary.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_input.h"
#include "cli/trace/trace_readback.h"

#define FILES_MAX 4096

/* Scans one file as the continuation of the files before it. If the file is cut off, its whole
 * packets count. */
static int scan_next_file(struct verb_summary *s, const char *path, struct err_text *e)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t bytes = 0, packets = s->scan.packets;
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && trace_input_is_text(path))
		return trace_input_explain(path, e);
	if (r == 0)
		r = trace_readback_scan(fd, &s->scan, &bytes);
	if (r == -EBADMSG && s->scan.packets == packets)
		return trace_input_explain(path, e);
	if (r == -EBADMSG)
		s->file_is_cut = true;
	else if (r < 0)
		return err_set(e, r, "cannot read %s: %s", path,
			       r == -ESPIPE ? "it is not a regular file" : strerror(-r));
	s->file_bytes += bytes;
	return 0;
}

static int print_info(const struct verb_options *o, struct err_text *e)
{
	const struct verb_summary_form form = {
		.json = o->json,
		.strict = o->strict,
		.to_stdout = true,
	};
	struct verb_summary s = {.output = o->words[0]};
	int r = 0;

	s.scan.contents = &s.contents;
	for (size_t i = 0; i < o->n_words && !r; i++)
		r = scan_next_file(&s, o->words[i], e);
	if (!r)
		r = verb_summary_print(&s, &form);
	verb_summary_deinit(&s);
	return r;
}

int cmd_info(int argc, char **argv)
{
	static const char usage[] =
		"usage: sonda info [OPTION]... [FILE]...\n\n"
		"Prints the summary of a trace: events, losses, holes, missing data, why the "
		"session ended,\n"
		"machines, config, buffers, and what takes up space in the file. Several FILEs "
		"are read\n"
		"as parts of one rotated trace, in order. Without FILE, reads the newest trace in "
		"the\n"
		"current directory.\n\n"
		"      --strict       exit with status 3 if data was lost or requested data is "
		"missing\n"
		"      --json         print the summary as JSON\n"
		"  -h, --help         print this help\n";
	struct verb_options o;
	struct err_text e;
	char newest[NAME_MAX + 1], *words[] = {newest};
	int r = verb_options_parse(argc, argv, "jx", 0, FILES_MAX, usage, &o);

	if (r >= 0)
		return r;
	if (!o.n_words) {
		if (newest_trace_choose("info", newest) < 0)
			return EXIT_FAILED;
		o.words = words;
		o.n_words = 1;
	}
	r = print_info(&o, &e);
	if (r >= 0)
		return r;
	log_error("%s", e.text);
	return EXIT_FAILED;
}
