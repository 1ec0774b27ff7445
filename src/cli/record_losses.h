/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "cli/record_summary.h"

/*
 * The losses of a recording, at each of the three places where data can be lost: the kernel's
 * rings, the shared memory, the central buffer. Appends a line for each kind with its place, its
 * number and what would help. Gives the number of lines.
 */
size_t record_losses(const struct record_facts *f, struct strbuf *lines);
