/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For the functions of include/sonda. All other functions are hidden in libsonda.so. */
#define SONDA_PUBLIC __attribute__((visibility("default")))
