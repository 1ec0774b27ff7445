# SPDX-License-Identifier: Apache-2.0
#
# The picture of README.md: PAGE is `sonda report --html` of a recording of examples/ledger.c, PICTURE the PNG to write. It
# shows the longest wait of the thread "reader", but for the first one, with the code that waited and the code that ended it.
import sys

from browser import Browser


def main(page, picture):
    b = Browser(1200, 790)
    try:
        b.scheme('light')
        b.open(page, 'window.sonda && !document.getElementById("main").hidden')
        # The states of the thread, and of these the longest of all but the first fifth of the recording.
        b.run('''(() => {
            const { tree, view } = sonda, row = tree.list.find((r) => r.kind === "thread" && r.thread.name === "reader");
            const lane = row.thread.states, after = view.least + (view.most - view.least) / 5;
            let index = -1;
            for (let i = lane.first(after); i < lane.n; i++)
              if (index < 0 || lane.end[i] - lane.start[i] > lane.end[index] - lane.start[index])
                index = i;
            const length = lane.end[index] - lane.start[index];
            sonda.showWindow(lane.start[index] - 4 * length, lane.end[index] + 4 * length);
            sonda.select({ row, lane, index });
            document.activeElement.blur(); })()''')
        b.wait('document.querySelectorAll("#table .stack").length === 2')
        b.run('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        b.picture(picture)
    finally:
        b.close()


main(*sys.argv[1:])
