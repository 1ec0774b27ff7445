#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: bench/run.sh BUILD      every paired measurement (README.md says what each one is); the exit status is 1 when
# one is over what is asked, or could not be made.
set -u
BUILD=$1
export BUILD
here=$(dirname "$0")
bad=0
for script in sched_pipe verbose_mix sessions processes sys_stats write_into_file service; do
  "$here/$script.sh" || bad=1
done
exit $bad
