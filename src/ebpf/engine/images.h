/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/features.h"

/* The compiled objects of bpf/, which build/gen/bpf/objects.S links in. A file that uses
 * EBPF_IMAGE(runq), the object of bpf/runq.bpf.c, declares it once with EBPF_DECLARE(runq). */
#define EBPF_DECLARE(object)                                                                       \
	extern const unsigned char ebpf_object_##object[];                                         \
	extern const unsigned char ebpf_object_##object##_end[]
#define EBPF_IMAGE(object)                                                                         \
	{                                                                                          \
		.name = #object, .begin = ebpf_object_##object, .end = ebpf_object_##object##_end  \
	}
