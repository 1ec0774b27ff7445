/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/span.h"
#include "client/counters/counter_number.h"

/*
 * Parses the numbers of a text in an unknown format. The name of a number is made of the words
 * before it on its line:
 *
 *	1539000                             "cur_freq"     the name of the file
 *	0.52 0.58 0.59 2/345 12345          "loadavg", "loadavg 2", "loadavg 3", "loadavg 5"
 *	pgfault 12                          "pgfault"
 *	VmRSS:     4096 kB                  "VmRSS"
 *	TCP: inuse 5 orphan 0               "TCP inuse", "TCP orphan"
 *	cpu0 1 2                            "cpu0", "cpu0 2"
 *	some avg10=0.12 total=8             "some avg10", "some total"
 *
 * A word with a letter is part of a name. A word of digits and other characters ("2/345") only
 * takes a position. Several numbers may get the same name.
 */

#define FILE_NUMBER_NAME_SIZE 128 /* with the NUL; numbers with longer names are skipped */

/* Calls fn for each number. file: the name of numbers without words. Returns 0, or -EBADMSG if the
 * text has no number. */
int file_numbers_parse(struct span text, const char *file, counter_number_fn fn, void *ctx);
