/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/counters/counter_number.h"

/*
 * The numbers of a text that nobody has described, each with a name that is made of the words before
 * it on its line:
 *
 *	1539000                             "cur_freq"     the file's own name
 *	0.52 0.58 0.59 2/345 12345          "loadavg", "loadavg 2", "loadavg 3", "loadavg 5"
 *	pgfault 12                          "pgfault"
 *	VmRSS:     4096 kB                  "VmRSS"
 *	TCP: inuse 5 orphan 0               "TCP inuse", "TCP orphan"
 *	cpu0 1 2                            "cpu0", "cpu0 2"
 *	some avg10=0.12 total=8             "some avg10", "some total"
 *
 * A word with a letter in it belongs to a name, one of digits and other marks ("2/345") only takes
 * its place. Several numbers may come out with one name.
 */

#define FILE_NUMBER_NAME_SIZE 128 /* with a NUL; what has a longer name is left out */

/* file: the name for numbers without any words. 0; or -EBADMSG: there is no number in the text. */
int file_numbers_parse(struct span text, const char *file, counter_number_fn fn, void *ctx);
