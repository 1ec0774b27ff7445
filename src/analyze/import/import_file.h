/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/import.h"

/*
 * Imports a file, or all bytes of a pipe. fd stays the caller's. Returns as trace_import(); -EISDIR
 * for a folder; or -errno of fstat(2), read(2) or mmap(2).
 */
int trace_import_file(struct store *s, int fd, struct import_result *ret);
