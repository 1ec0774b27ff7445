// SPDX-License-Identifier: Apache-2.0
// The columns of the page: base64, zlib, varints (src/analyze/page/page_columns.h lists them).

function fromBase64(text) {
  if (Uint8Array.fromBase64)
    return Uint8Array.fromBase64(text);
  const bytes = new Uint8Array(Math.floor(text.length / 4) * 3);
  const piece = 4 << 18;
  let n = 0;
  for (let i = 0; i < text.length; i += piece) {
    const part = atob(text.slice(i, i + piece));
    for (let j = 0; j < part.length; j++)
      bytes[n++] = part.charCodeAt(j);
  }
  return bytes.subarray(0, n);
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Column {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  // Below 2^53; larger numbers lose their low bits.
  number() {
    const bytes = this.bytes;
    let byte = bytes[this.at++];
    if (byte < 128)
      return byte;
    let value = byte & 127, place = 128;
    do {
      if (this.at >= bytes.length)
        throw new Error("a column is too short");
      byte = bytes[this.at++];
      value += (byte & 127) * place;
      place *= 128;
    } while (byte >= 128);
    return value;
  }

  signed() {
    const v = this.number();
    return v % 2 ? -(v + 1) / 2 : v / 2;
  }

  get ended() {
    return this.at >= this.bytes.length;
  }

  // All numbers of a short column.
  rest() {
    const list = [];
    while (!this.ended)
      list.push(this.number());
    return list;
  }

  // Characters that would control the text around a name are shown as unknown ones.
  text(length) {
    this.at += length;
    return DECODER.decode(this.bytes.subarray(this.at - length, this.at)).replace(CONTROL, "\ufffd");
  }
}

const DECODER = new TextDecoder();
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

// Takes a column out of the document.
async function takeColumn(name) {
  const element = document.getElementById(name);
  const bytes = fromBase64(element.textContent);
  element.remove();
  return new Column(await inflate(bytes));
}

function takeFacts() {
  return JSON.parse(document.getElementById("facts").textContent);
}

async function takeStrings() {
  const column = await takeColumn("string");
  const strings = [null]; // numbers in other columns are +1
  while (!column.ended)
    strings.push(column.text(column.number()));
  return strings;
}
