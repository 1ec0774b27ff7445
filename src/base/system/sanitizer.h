/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* 1 if built with a sanitizer, which needs more system calls than the program itself. */
#ifdef __has_feature
#define SANITIZER_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SANITIZER_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
	SANITIZER_HAS_FEATURE(address_sanitizer) || SANITIZER_HAS_FEATURE(thread_sanitizer) ||     \
	SANITIZER_HAS_FEATURE(memory_sanitizer)
#define BUILT_WITH_SANITIZER 1
#else
#define BUILT_WITH_SANITIZER 0
#endif
