/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/text/str.h"

/* Explains an option that getopt_long rejected (called with opterr 0 and ':' as first letter).
 * option is the result of getopt_long, ':' or '?'; typed is the argument that it rejected. Returns
 * -EINVAL and sets e. */
int option_refuse(int option, const char *typed, const char *letters,
		  const struct option *long_options, struct err_text *e);

/* Parses the options of a command line with getopt_long; afterwards optind is the index of the
 * first word. letters begins with ':'. Calls take with each option but -h; take returns 0, or a
 * negative errno and sets e. Returns 0, 1 for -h, -EINVAL and sets e, or the error of take. */
int options_parse(int argc, char **argv, const char *letters, const struct option *long_options,
		  int (*take)(void *ctx, int option, struct err_text *e), void *ctx,
		  struct err_text *e);

/* Checks whether the user forgot the value of an option, so that getopt_long took the next option
 * as the value. next: argv + optind after getopt_long; value: optarg, which may be NULL. Returns 0,
 * or -EINVAL and sets e. */
int option_refuse_swallowed(char *const *next, const char *value, const char *letters,
			    const struct option *long_options, struct err_text *e);

/* Checks that when is "always", "never" or "auto". option: its name, for e. Returns 0, or -EINVAL
 * and sets e. */
int option_check_color(const char *option, const char *when, struct err_text *e);

/* Checks the value of --socket. Returns 0, or -EINVAL and sets e. */
int option_check_socket(const char *address, struct err_text *e);

/* The command line of the verbs that have few options. Strings are borrowed from argv. */
struct verb_options {
	const char *socket; /* --socket ADDRESS; NULL: default */
	const char *output; /* -o, --out FILE; NULL: none given */
	bool quiet; /* -q, --quiet */
	bool raw; /* --raw */
	bool json; /* --json */
	bool strict; /* --strict */
	bool bugreport; /* --bugreport */
	bool fields; /* --fields */
	const char *dir; /* --dir DIR: of the recorder; NULL: default */
	const char *last; /* --last TIME; NULL: none given */
	char **words; /* arguments that are not options */
	size_t n_words;
};

/* Parses the command line of a verb. letters: the options that it has: s(ocket) o(ut) q(uiet) r(aw)
 * j(son) b(ugreport) f(ields) x (--strict) d(ir) l(ast). usage: its first line names the arguments.
 * Returns -1 to continue; else the exit code, after printing help on stdout or the error on
 * stderr. */
int verb_options_parse(int argc, char **argv, const char *letters, size_t min_words,
		       size_t max_words, const char *usage, struct verb_options *ret);

/* Writes text, which may have failed, to standard output. Returns EXIT_GOOD, or EXIT_FAILED after
 * logging the reason. */
int verb_print(const struct strbuf *text);

/* Prints the name of a file that was written, and `more` (may be "") after two blanks, as a line on
 * standard output. A program gets the name unchanged; a terminal gets text that is safe to
 * print. */
void verb_print_file_name(const char *path, const char *more);

/* The verbs of the command line; each has a row in main.c. */

enum exit_code {
	EXIT_GOOD = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LOSSY = 3, /* only with --strict: success, but data was lost or is missing */
	EXIT_CONDITION = 4, /* only with --fail-if: a condition holds */
};

/* argv[0] is the verb. Returns an exit_code. */
int cmd_describe(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_recorder(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_ship(int argc, char **argv);
int cmd_sql(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_open(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_cut(int argc, char **argv);
int cmd_import(int argc, char **argv);
int cmd_split(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_symbolize(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_trigger(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/* The command line of Perfetto's perfetto, for scripts: what sonda does when it is called by that
 * name. Returns the exit code: 0 also if the service refused the session, as with Perfetto; 1 on
 * errors; 2 if there is no such detached session, or if --background-wait waited too long. */
int perfetto_main(int argc, char **argv);
