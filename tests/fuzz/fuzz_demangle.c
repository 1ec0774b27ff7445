/* SPDX-License-Identifier: Apache-2.0 */
/* Mangled names of C++ and Rust: what comes out fits, and a NUL follows it. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/text/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[DEMANGLE_NAME_MAX], ret[256];
	static int clock = -1;
	size_t len;

	if (clock < 0)
		clock = demangle_start_clock() == 0;
	if (size >= sizeof(name))
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	len = demangle_name(name, ret, sizeof(ret));
	assert(len < sizeof(ret) && (len == 0 || strlen(ret) <= len));
	return 0;
}
