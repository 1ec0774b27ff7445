/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Returns true if this program's file is also the program of that name: it starts as that program
 * if it is called by the name. Only true in the static build (src/multicall). */
bool multicall_contains(const char *name);
