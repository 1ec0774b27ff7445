/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The program that a shell would find: name itself where it has a '/', else that of a folder of
 * PATH. 0, or -ENOENT. */
int path_program(const char *name, char *buf, size_t size);
