/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/calls/call_table.h"
#include "base/text/str.h"

/*
 * Numbers of system calls as text, as strace prints them: flags and enumerations by name, modes in
 * octal. Flags of open() are those of this machine's architecture.
 */

/* Appends argument i of a call. row NULL: the call is unknown, and all of its arguments are hex. */
void call_value_put(const struct call_row *row, const uint64_t args[static CALL_ARGS_MAX],
		    unsigned i, struct strbuf *b);
/* Appends what a call returned: "-1 ENOENT (No such file or directory)". row may be NULL. */
void call_result_put(const struct call_row *row, int64_t result, struct strbuf *b);
/* Returns how many arguments the call has with these values: fcntl(fd, F_GETFL) has no third
 * one. */
unsigned call_count_args(const struct call_row *row, const uint64_t args[static CALL_ARGS_MAX]);
/* Appends flags of the kind that a letter of call_table.h names. */
void call_flags_put(char letter, uint64_t flags, struct strbuf *b);
/* Appends the name of a socket domain: "AF_INET". */
void call_address_family_put(unsigned family, struct strbuf *b);
