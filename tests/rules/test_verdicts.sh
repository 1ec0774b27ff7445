#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A verdict on $? that names what it judges with a $(command) judges that command: it can hardly fail. And a trap on EXIT is
# also run by a child of the shell that a signal meets before it has become another program: it would end the test's
# daemons and remove its directory, had it not to be the shell itself.
set -u
cd "$(dirname "$0")/../.." || exit 2

found=$(grep -nE 'verdict .*\$\(.*\$\?' tests/*/*.sh tests/*/*/*.sh | grep -v '^tests/rules/')
if [ -z "$found" ]; then
  echo "ok 1 - no verdict is on the command that is in its own name"
else
  echo "not ok 1 - no verdict is on the command that is in its own name"
  printf '%s\n' "$found" | sed 's/^/#   /'
fi
bare=$(grep -nE '\btrap .*EXIT' tests/*.sh tests/*/*.sh tests/*/*/*.sh bench/*.sh | grep -v 'BASHPID\|^tests/rules/test_verdicts')
if [ -z "$bare" ]; then
  echo "ok 2 - what a script does at its end only it does"
else
  echo "not ok 2 - what a script does at its end only it does"
  printf '%s\n' "$bare" | sed 's/^/#   /'
fi
echo 1..2
[ -z "$found$bare" ]
