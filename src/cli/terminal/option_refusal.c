// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/option_refusal.h"

#include <ctype.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/text/str.h"

static int refuse_long(const char *typed, const struct option *long_options, struct err_text *e)
{
	struct str_nearest nearest;

	str_nearest_init(&nearest, str_starts(typed, "--") ? typed + 2 : typed);
	for (size_t i = 0; long_options[i].name; i++)
		str_nearest_try(&nearest, long_options[i].name);
	if (str_nearest_get(&nearest) && !strchr(typed, '='))
		return err_set(e, -EINVAL, "there is no option %.80s; did you mean --%s?", typed,
			       str_nearest_get(&nearest));
	return err_set(e, -EINVAL, "there is no option %.80s", typed);
}

/* Else it is a long option with a value that it does not take. */
static bool is_unknown_letter(int option, const char *letters, const struct option *long_options)
{
	if (option <= 0 || option > 0x7f || strchr(letters, option))
		return false;
	for (size_t i = 0; long_options[i].name; i++)
		if (long_options[i].val == option)
			return false;
	return true;
}

/* "-o", "-ofile", "--out" or "--out=file" of these options. */
static bool is_option(const char *text, const char *letters, const struct option *long_options)
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

int option_refuse_swallowed(const char *last_arg, const char *value, const char *letters,
			    const struct option *long_options, struct err_text *e)
{
	if (!value || value != last_arg || !is_option(value, letters, long_options))
		return 0;
	return err_set(e, -EINVAL,
		       "the option before '%.80s' needs a value, and that is an option itself",
		       value);
}

int option_refuse(int option, const char *typed, const char *letters,
		  const struct option *long_options, struct err_text *e)
{
	if (option == ':')
		return err_set(e, -EINVAL, "%.80s needs a value", typed);
	if (is_unknown_letter(optopt, letters, long_options))
		return err_set(e, -EINVAL, "there is no option -%c", optopt);
	return refuse_long(typed, long_options, e);
}
