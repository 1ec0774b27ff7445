/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"

/* What getopt_long does not take, in our words: with opterr 0 and ':' first in its letters. option is
 * what it gave, ':' or '?', and typed the argument that it stopped at. Returns -EINVAL with the sentence
 * in e. */
int option_refuse(int option, const char *typed, const char *letters,
		  const struct option *long_options, struct err_text *e);

/* After an option was taken: its value stood by itself in last_arg, and is another option that the
 * value's place was left empty before. Returns 0, or -EINVAL and sets e. */
int option_refuse_swallowed(const char *last_arg, const char *value, const char *letters,
			    const struct option *long_options, struct err_text *e);

/* The command line of the verbs that have few options. Strings are borrowed from argv. */
struct verb_options {
	const char *socket; /* --socket ADDRESS; NULL: the usual place */
	const char *output; /* -o, --out FILE; NULL: none given */
	bool quiet; /* -q, --quiet */
	bool raw; /* --raw */
	bool json; /* --json */
	bool strict; /* --strict */
	bool bugreport; /* --bugreport */
	char **words; /* what is not an option */
	size_t n_words;
};

/*
 * letters: which of them the verb has: s(ocket) o(ut) q(uiet) r(aw) j(son) b(ugreport) x (--strict); and how many words
 * it takes at least and at most. -1: continue. Else the exit code: help went to stdout, or what is
 * wrong, to stderr.
 */
int verb_options_parse(int argc, char **argv, const char *letters, size_t min_words,
		       size_t max_words, const char *usage, struct verb_options *ret);

/* The verbs of the command line: one file and one row in main.c each. */

enum exit_code {
	EXIT_GOOD = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_LOSSY = 3, /* only with --strict: it worked, but something is missing */
};

/* argv[0] is the verb. Returns an exit_code. */
int cmd_record(int argc, char **argv);
int cmd_sessions(int argc, char **argv);
int cmd_snapshot(int argc, char **argv);
int cmd_status(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_attach(int argc, char **argv);
int cmd_trigger(int argc, char **argv);
