/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ebpf/engine/features.h"

/*
 * The compiled objects of bpf/, linked in by build/gen/bpf/objects.S. EBPF_DECLARE(runq) once in a
 * file; then EBPF_IMAGE(runq) is bpf/runq.bpf.c.
 */
#define EBPF_DECLARE(object)                                                                       \
	extern const unsigned char ebpf_object_##object[];                                         \
	extern const unsigned char ebpf_object_##object##_end[]
#define EBPF_IMAGE(object)                                                                         \
	{                                                                                          \
		.name = #object, .begin = ebpf_object_##object, .end = ebpf_object_##object##_end  \
	}
