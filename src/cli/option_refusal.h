/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <getopt.h>

#include "base/err.h"

/* What getopt_long does not take, in our words: with opterr 0 and ':' first in its letters. option is
 * what it gave, ':' or '?', and typed the argument that it stopped at. Gives -EINVAL with the sentence
 * in e. */
int option_refuse(int option, const char *typed, const char *letters,
		  const struct option *long_options, struct err_text *e);
