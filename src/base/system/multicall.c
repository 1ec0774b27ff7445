/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/multicall.h"

/* Not linked into the static build, which has its own multicall_contains(). */
bool multicall_contains(const char *name)
{
	return false;
}
