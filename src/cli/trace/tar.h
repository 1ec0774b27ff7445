/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdio.h>

/*
 * Writes a tar archive:
 *
 *	(tar_put_header --> the bytes of the file --> tar_put_padding) ... --> tar_put_end
 *
 * Names have at most TAR_NAME_MAX bytes; longer ones are cut. Equal files give equal archives,
 * because times and owners are left out. Errors of the stream are the caller's to check.
 *
 * Source of the format: POSIX.1-2017, pax, "ustar Interchange Format". A size that its field cannot
 * hold is written as base 256, as GNU tar does.
 */
#define TAR_NAME_MAX 99

void tar_put_header(FILE *to, const char *name, uint64_t size);
void tar_put_padding(FILE *to, uint64_t size); /* after a file of this size */
void tar_put_end(FILE *to);
