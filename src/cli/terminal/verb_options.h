/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The command line of the verbs that have few options. Strings are borrowed from argv. */
struct verb_options {
	const char *socket; /* --socket ADDRESS; NULL: the usual place */
	const char *output; /* -o, --out FILE; NULL: none given */
	bool quiet; /* -q, --quiet */
	bool raw; /* --raw */
	bool json; /* --json */
	bool strict; /* --strict */
	bool bugreport; /* --bugreport */
	char **words; /* what is no option */
	size_t n_words;
};

/*
 * letters: which of them the verb has: s(ocket) o(ut) q(uiet) r(aw) j(son) b(ugreport) x (--strict); and how many words
 * it takes at least and at most. -1: go on. Else the exit code: help went to stdout, or what is
 * wrong, to stderr.
 */
int verb_options_parse(int argc, char **argv, const char *letters, size_t min_words,
		       size_t max_words, const char *usage, struct verb_options *ret);
