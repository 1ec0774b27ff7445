/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <getopt.h>

#include "base/core/err.h"

/* What getopt_long does not take, in our words: with opterr 0 and ':' first in its letters. option is
 * what it gave, ':' or '?', and typed the argument that it stopped at. Gives -EINVAL with the sentence
 * in e. */
int option_refuse(int option, const char *typed, const char *letters,
		  const struct option *long_options, struct err_text *e);

/* After an option was taken: its value stood by itself in last_arg, and is another option that the
 * value's place was left empty before. 0, or -EINVAL with the sentence in e. */
int option_refuse_swallowed(const char *last_arg, const char *value, const char *letters,
			    const struct option *long_options, struct err_text *e);
