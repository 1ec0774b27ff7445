/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/verb.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/help.h"

static int refuse_long_option(const char *typed, const struct option *long_options,
			      struct err_text *e)
{
	struct str_nearest nearest;

	str_nearest_init(&nearest, str_starts(typed, "--") ? typed + 2 : typed);
	for (size_t i = 0; long_options[i].name; i++)
		str_nearest_try(&nearest, long_options[i].name);
	if (str_nearest_get(&nearest) && !strchr(typed, '='))
		return err_set(e, -EINVAL, "unknown option %.80s; did you mean --%s?", typed,
			       str_nearest_get(&nearest));
	return err_set(e, -EINVAL, "unknown option %.80s", typed);
}

/* Returns true for an unknown letter; else the error is an unknown long option, or a value for a
 * long option that takes none. */
static bool is_unknown_letter(int option, const char *letters, const struct option *long_options)
{
	if (option <= 0 || option > 0x7f || strchr(letters, option))
		return false;
	for (size_t i = 0; long_options[i].name; i++)
		if (long_options[i].val == option)
			return false;
	return true;
}

/* Returns true if text is one of these options: "-o", "-ofile", "--out" or "--out=file". */
static bool text_is_option(const char *text, const char *letters, const struct option *long_options)
{
	size_t len;

	if (text[0] != '-' || !text[1])
		return false;
	if (text[1] != '-')
		return isalpha((unsigned char)text[1]) && strchr(letters, text[1]);
	len = strcspn(text + 2, "=");
	for (size_t i = 0; long_options[i].name; i++)
		if (strlen(long_options[i].name) == len &&
		    !memcmp(long_options[i].name, text + 2, len))
			return true;
	return false;
}

int option_refuse_swallowed(char *const *next, const char *value, const char *letters,
			    const struct option *long_options, struct err_text *e)
{
	if (!value || value != next[-1] || !text_is_option(value, letters, long_options))
		return 0;
	return err_set(e, -EINVAL, "%.80s needs a value, but '%.80s' follows", next[-2], value);
}

int option_refuse(int option, const char *typed, const char *letters,
		  const struct option *long_options, struct err_text *e)
{
	if (option == ':')
		return err_set(e, -EINVAL, "%.80s needs a value", typed);
	if (is_unknown_letter(optopt, letters, long_options))
		return err_set(e, -EINVAL, "unknown option -%c", optopt);
	return refuse_long_option(typed, long_options, e);
}

int options_parse(int argc, char **argv, const char *letters, const struct option *long_options,
		  int (*take)(void *ctx, int option, struct err_text *e), void *ctx,
		  struct err_text *e)
{
	int option, r = 0;

	opterr = 0;
	optind = 0;
	while (r == 0 && (option = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
		if (option == 'h')
			return 1;
		if (option == ':' || option == '?')
			return option_refuse(option, argv[optind - 1], letters, long_options, e);
		r = option_refuse_swallowed(argv + optind, optarg, letters, long_options, e);
		if (r == 0)
			r = take(ctx, option, e);
	}
	return r;
}

int option_check_color(const char *option, const char *when, struct err_text *e)
{
	if (strcmp(when, "always") != 0 && strcmp(when, "never") != 0 && strcmp(when, "auto") != 0)
		return err_set(e, -EINVAL, "%s '%.80s': use always, never or auto", option, when);
	return 0;
}

int option_check_socket(const char *address, struct err_text *e)
{
	if (sock_check(address) < 0)
		return err_set(e, -EINVAL,
			       "--socket '%.80s' is not a valid socket address; examples: "
			       "/run/perfetto/traced-consumer.sock, 10.0.0.1:20002, "
			       "vsock://2:20002",
			       address);
	return 0;
}

static const struct option all[] = {
	{"socket", required_argument, NULL, 's'}, {"out", required_argument, NULL, 'o'},
	{"quiet", no_argument, NULL, 'q'},	  {"raw", no_argument, NULL, 'r'},
	{"json", no_argument, NULL, 'j'},	  {"bugreport", no_argument, NULL, 'b'},
	{"fields", no_argument, NULL, 'f'},	  {"strict", no_argument, NULL, 'x'},
	{"dir", required_argument, NULL, 'd'},	  {"last", required_argument, NULL, 'l'},
	{"help", no_argument, NULL, 'h'},
};

/* Selects the verb's options: those of `letters`, and help. The list ends with zeroes.
 * short_options: those with a letter, for getopt_long(). */
static void verb_select_options(const char *letters,
				struct option chosen[static ARRAY_SIZE(all) + 1],
				char short_options[static 8])
{
	size_t n = 0;

	strcpy(short_options, ":h");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].val == 'h' || strchr(letters, all[i].val))
			chosen[n++] = all[i];
	chosen[n] = (struct option){0};
	if (strchr(letters, 'o'))
		strcat(short_options, "o:");
	if (strchr(letters, 'q'))
		strcat(short_options, "q");
}

static int verb_handle_option(void *ctx, int option, struct err_text *e)
{
	struct verb_options *o = ctx;

	switch (option) {
	case 's':
		o->socket = optarg;
		return option_check_socket(optarg, e);
	case 'o':
		o->output = optarg;
		return *optarg ? 0 : err_set(e, -EINVAL, "-o needs a file name");
	case 'q':
		o->quiet = true;
		return 0;
	case 'r':
		o->raw = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'x':
		o->strict = true;
		return 0;
	case 'b':
		o->bugreport = true;
		return 0;
	case 'f':
		o->fields = true;
		return 0;
	case 'd':
		o->dir = optarg;
		return 0;
	case 'l':
		o->last = optarg;
		return 0;
	}
	return -EINVAL;
}

static int verb_print_usage_error(const char *verb, const char *why)
{
	log_error("%s: %s", verb, why);
	log_error("see sonda help %s", verb);
	return EXIT_USAGE;
}

/* Finds the first argument in the usage that is neither an option nor in brackets, as "FILE" in
 * "usage: sonda info [OPTION]... FILE...". Returns its length and sets *ret to its start, or
 * returns 0 if there is none. */
static size_t find_argument_in_usage(const char *usage, const char **ret)
{
	size_t len;

	for (const char *at = usage; *at && *at != '\n'; at += strcspn(at, " \n")) {
		at += strspn(at, " ");
		if (*at == '[')
			at += strcspn(at, "]\n");
		len = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		if (len && strchr(" .\n", at[len])) {
			*ret = at;
			return len;
		}
	}
	return 0;
}

static int verb_check(const char *verb, const char *usage, const struct verb_options *o,
		      size_t min_words, size_t max_words)
{
	struct err_text e;

	if (o->n_words < min_words) {
		const char *argument = "an argument";
		size_t len = find_argument_in_usage(usage, &argument);

		err_set(&e, 0, "%.*s is missing", len ? (int)len : 20, argument);
		return verb_print_usage_error(verb, e.text);
	}
	if (o->n_words > max_words) {
		err_set(&e, 0, "unexpected argument '%.80s'", o->words[max_words]);
		return verb_print_usage_error(verb, e.text);
	}
	return -1;
}

int verb_options_parse(int argc, char **argv, const char *letters, size_t min_words,
		       size_t max_words, const char *usage, struct verb_options *ret)
{
	struct option chosen[ARRAY_SIZE(all) + 1];
	struct verb_options o = {0};
	char short_options[8];
	struct err_text e;
	int code;

	verb_select_options(letters, chosen, short_options);
	code = options_parse(argc, argv, short_options, chosen, verb_handle_option, &o, &e);
	if (code < 0)
		return verb_print_usage_error(argv[0], e.text);
	if (code > 0) {
		help_print(usage);
		return EXIT_GOOD;
	}
	o.words = argv + optind;
	o.n_words = (size_t)(argc - optind);
	code = verb_check(argv[0], usage, &o, min_words, max_words);
	if (code < 0)
		*ret = o;
	return code;
}

int verb_print(const struct strbuf *text)
{
	int r = text->failed ? -ENOMEM : fs_write_all(STDOUT_FILENO, text->s, text->len);

	if (r == 0)
		return EXIT_GOOD;
	log_error("cannot write to standard output: %s", strerror(-r));
	return EXIT_FAILED;
}

void verb_print_file_name(const char *path, const char *more)
{
	struct strbuf plain = {0};

	if (isatty(STDOUT_FILENO)) {
		strbuf_put_plain(&plain, path);
		path = plain.failed ? "" : plain.s;
	}
	printf("%s%s%s\n", path, *more ? "  " : "", more);
	strbuf_deinit(&plain);
}
