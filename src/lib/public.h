/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Marks a function of include/sonda; all others are hidden in libsonda.so. */
#define SONDA_PUBLIC __attribute__((visibility("default")))
