/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

#define SHIP_DIRS_MAX 16
#define SHIP_TABLES_MAX 96
#define SHIP_MACHINE_SIZE 64
#define SHIP_BUCKET_SIZE 64
#define SHIP_PREFIX_SIZE 256

/* The command line of sonda ship. Strings are borrowed from argv unless they are arrays. */
struct ship_options {
	bool help;
	const char *spool;
	/* of the collector */
	const char *from[SHIP_DIRS_MAX];
	size_t n_from; /* 0: nothing is collected */
	const char *tables[SHIP_TABLES_MAX];
	size_t n_tables;
	char machine[SHIP_MACHINE_SIZE];
	uint64_t max_bytes; /* of the spool */
	uint64_t memory; /* of the tables of one trace */
	uint32_t settle_ms; /* a file that was not written for this time is complete */
	/* of the uploader */
	bool uploads;
	char bucket[SHIP_BUCKET_SIZE],
		prefix[SHIP_PREFIX_SIZE]; /* prefix: "" or with a '/' at its end */
	char endpoint[300], region[64];
	bool bucket_in_host;
	const char *credentials, *profile, *ca_file;
	uint32_t retries, retry_max_ms;
	/* of --compact */
	const char *compact; /* the day; NULL: not given */
	uint64_t part_bytes; /* size from which a merged file is followed by another one */
	bool removes;
	/* of all */
	const char *status; /* directory of ship_status.h; NULL: none */
	bool once;
	uint32_t every_ms;
};

extern const char ship_usage[];

/* Parses the command line. Returns 0, also for --help, which sets ret->help; or -errno and sets
 * e. */
int ship_options_parse(int argc, char **argv, struct ship_options *ret, struct err_text *e);

/* Makes a name of a machine that is safe as the value of a partition: a-z, then up to 62 of
 * a-z 0-9 . - ; "m-" is put before a name that begins otherwise. */
void ship_make_machine(const char *name, char ret[static SHIP_MACHINE_SIZE]);
