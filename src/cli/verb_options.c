/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/verb.h"

static const struct option all[] = {
	{"socket", required_argument, NULL, 's'}, {"out", required_argument, NULL, 'o'},
	{"quiet", no_argument, NULL, 'q'},	  {"raw", no_argument, NULL, 'r'},
	{"json", no_argument, NULL, 'j'},	  {"bugreport", no_argument, NULL, 'b'},
	{"help", no_argument, NULL, 'h'},
};

/* Only those of the verb; ends with zeroes. short_options: what has a letter on the command line. */
static void choose(const char *letters, struct option chosen[static ARRAY_SIZE(all) + 1],
		   char short_options[static 8])
{
	size_t n = 0;

	strcpy(short_options, "h");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].val == 'h' || strchr(letters, all[i].val))
			chosen[n++] = all[i];
	chosen[n] = (struct option){0};
	if (strchr(letters, 'o'))
		strcat(short_options, "o:");
	if (strchr(letters, 'q'))
		strcat(short_options, "q");
}

static int take(int option, const char *usage, struct verb_options *o)
{
	switch (option) {
	case 's':
		o->socket = optarg;
		return -1;
	case 'o':
		o->output = optarg;
		return -1;
	case 'q':
		o->quiet = true;
		return -1;
	case 'r':
		o->raw = true;
		return -1;
	case 'j':
		o->json = true;
		return -1;
	case 'b':
		o->bugreport = true;
		return -1;
	case 'h':
		fputs(usage, stdout);
		return EXIT_GOOD;
	}
	return EXIT_USAGE; /* getopt has told why */
}

int verb_options_parse(int argc, char **argv, const char *letters, size_t min_words,
		       size_t max_words, const char *usage, struct verb_options *ret)
{
	struct option chosen[ARRAY_SIZE(all) + 1];
	struct verb_options o = {0};
	char short_options[8];
	int option, code = -1;

	choose(letters, chosen, short_options);
	optind = 0;
	while (code < 0 && (option = getopt_long(argc, argv, short_options, chosen, NULL)) >= 0)
		code = take(option, usage, &o);
	if (code >= 0)
		return code;
	o.words = argv + optind;
	o.n_words = (size_t)(argc - optind);
	if (o.n_words < min_words || o.n_words > max_words) {
		fputs(usage, stderr);
		return EXIT_USAGE;
	}
	if (o.output && !*o.output) {
		log_error("-o needs the name of a file");
		return EXIT_USAGE;
	}
	*ret = o;
	return -1;
}
