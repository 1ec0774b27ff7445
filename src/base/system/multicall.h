/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Returns true if the executable of this program also contains the program `name`, and runs as that
 * program when it is called by that name. Only true in the static build (src/multicall). */
bool multicall_contains(const char *name);
