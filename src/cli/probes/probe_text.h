/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/text/span.h"
#include "cli/probes/probe_lines.h"
#include "symbols/program_reader.h"

/*
 * The parts of a probe by name:
 *
 *	[[GROUP/]NAME=]PROGRAM:FUNCTION[+OFFSET][%return][(ARGS)][ -> RESULT]
 *	[[GROUP/]NAME=]PROGRAM:[PROVIDER:]NAME[(ARGS)]			a static probe
 *	[[GROUP/]NAME=][MODULE:]FUNCTION[+OFFSET][%return][(ARGS)][ -> RESULT]	of the kernel
 */
struct probe_text {
	struct span event; /* "GROUP/NAME" or "NAME"; p NULL: the default. Spans are borrowed */
	char program[PATH_MAX];
	char function[PROGRAM_NAME_MAX]; /* or "PROVIDER:NAME", or a number */
	uint64_t offset; /* added to that of the function */
	bool has_args;
	struct span args, result;
};

/* Parse the text; "%return" changes *kind. Return 0, or -EINVAL and set e. */
int probe_text_parse(const char *text, enum user_probe_kind *kind, struct probe_text *ret,
		     struct err_text *e);
/* The same for a probe of the kernel: program is empty, and function has the module and the
 * offset. */
int probe_text_parse_kernel(const char *text, enum user_probe_kind *kind, struct probe_text *ret,
			    struct err_text *e);
