/* SPDX-License-Identifier: Apache-2.0 */
/* sonda merge: makes one trace from the traces of several machines. */

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/cut/merge_files.h"
#include "cli/terminal/verb.h"
#include "cli/trace/trace_input.h"

static const char merge_usage[] =
	"usage: sonda merge -o OUT [OPTION]... [MACHINE=]FILE [MACHINE=]FILE...\n\n"
	"Merges the traces of several machines into one, on a common timeline. MACHINE names the "
	"machine\n"
	"that the trace was recorded on; default: the file's name. Give traces of the same machine "
	"the\n"
	"same MACHINE.\n\n"
	"  -o, --out OUT      output file: one trace, or, if its name ends in .tar, an "
	"archive of the\n"
	"                     unchanged traces, which Perfetto 58 and later can open\n"
	"      --force        overwrite existing files\n"
	"  -h, --help         print this help\n\n"
	"example: sonda merge -o both.pftrace web=web.pftrace db=db.pftrace\n";

static const char letters[] = ":o:h";

static const struct option long_options[] = {
	{"out", required_argument, NULL, 'o'},
	{"force", no_argument, NULL, 'f'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* ---- the command line ---- */

static int merge_handle_option(void *ctx, int option, struct err_text *e)
{
	struct merge_files *o = ctx;

	switch (option) {
	case 'o':
		o->out = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-o needs a file name");
	case 'f':
		o->force = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Reads an argument: "web=/tmp/a.pftrace", or "/tmp/web.pftrace", whose machine is "web". The name
 * of a machine has no slash. */
static int merge_parse_file(char *word, struct merge_file *ret, struct err_text *e)
{
	char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;
	char *equals = strchr(word, '='), *dot;

	ret->is_named = equals && (!strchr(word, '/') || equals < strchr(word, '/'));
	ret->path = ret->is_named ? equals + 1 : word;
	if (ret->is_named && (equals == word || !equals[1]))
		return err_set(e, -EINVAL, "%.80s: expected MACHINE=FILE", word);
	dot = strrchr(name, '.');
	ret->machine = ret->is_named ? strndup(word, (size_t)(equals - word))
				     : strndup(name, dot && dot != name ? (size_t)(dot - name)
									: strlen(name));
	return ret->machine ? 0 : err_set(e, -ENOMEM, "out of memory");
}

/* Takes the input files from the words and checks the options. Returns 0, or -EINVAL or -ENOMEM and
 * sets e. */
static int merge_complete_options(struct merge_files *o, char **words, int n, struct err_text *e)
{
	int r = 0;

	if (n < 2)
		return err_set(e, -EINVAL, "expected at least two files");
	if (n > MERGE_INPUTS_MAX)
		return err_set(e, -EINVAL, "too many files; the limit is %d", MERGE_INPUTS_MAX);
	if (!o->out)
		return err_set(e, -EINVAL, "no output file; name one with -o");
	for (int i = 0; r == 0 && i < n; i++) {
		struct merge_file *f = &o->files[o->n++];

		r = merge_parse_file(words[i], f, e);
		if (r == 0 && trace_input_is_output(f->path, o->out))
			r = err_set(e, -EINVAL,
				    "-o '%.80s' is one of the input files; choose another name",
				    o->out);
		for (size_t k = 0; r == 0 && k + 1 < o->n; k++)
			if (!strcmp(o->files[k].machine, f->machine) &&
			    !(o->files[k].is_named && f->is_named))
				r = err_set(e, -EINVAL,
					    "two files have the machine name '%.80s'; give them "
					    "different names, for example web=%.80s",
					    f->machine, f->path);
	}
	return r;
}

/* Returns 0, 1 after the help, or -EINVAL or -ENOMEM and sets e. */
static int merge_parse_arguments(int argc, char **argv, struct merge_files *o, struct err_text *e)
{
	int r = options_parse(argc, argv, letters, long_options, merge_handle_option, o, e);

	if (r > 0)
		fputs(merge_usage, stdout);
	return r ? r : merge_complete_options(o, argv + optind, argc - optind, e);
}

/* ---- the verb ---- */

int cmd_merge(int argc, char **argv)
{
	struct merge_files o = {0};
	char size[32] = "";
	uint64_t bytes = 0;
	struct err_text e;
	int r = merge_parse_arguments(argc, argv, &o, &e), code;

	if (r > 0)
		return EXIT_GOOD;
	if (r < 0) {
		log_error("merge: %s", e.text);
		log_error("see sonda help merge");
		code = EXIT_USAGE;
	} else if (merge_files_write(&o, &bytes, &e) < 0) {
		log_error("merge: %s", e.text);
		code = EXIT_FAILED;
	} else {
		if (strcmp(o.out, "-") != 0)
			verb_print_file_name(o.out, bytes ? str_bytes(bytes, size) : size);
		code = EXIT_GOOD;
	}
	merge_files_deinit(&o);
	return code;
}
