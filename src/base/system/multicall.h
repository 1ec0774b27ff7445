/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

/* Returns true if the file of this program also contains the program `name`, as which it runs if it
 * is called by that name. Only true in the static build (src/multicall). */
bool multicall_contains(const char *name);
