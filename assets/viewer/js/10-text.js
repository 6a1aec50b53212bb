// How tokens read: what has no shape of its own (control characters, bidirectional marks) is made visible.

const SHAPELESS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const visible = (text) => text.replace(SHAPELESS, (mark) => {
  if (mark === '\t') return '⇥';
  return '⟨U+' + mark.codePointAt(0).toString(16).toUpperCase().padStart(4, '0') + '⟩';
});
const inLine = (text) => visible(text).replaceAll('\n', '↵');

// The vocabulary of a lane, as far as it occurs. A live lane learns pieces as it goes.
class Words {
  read(lane) {
    this.pieces = lane.pieces;
    this.ends = new Set(lane.end_ids);
    this.names = new Set(lane.special);
    this.known = new Map();
  }

  special(token) {
    return this.ends.has(token) || this.names.has(token);
  }

  // A token by itself, in one line.
  alone(token) {
    let text = this.known.get(token);
    if (text === undefined) {
      text = this.ends.has(token) ? 'end' : inLine(this.pieces[token] ?? ` ${token}`);
      this.known.set(token, text);
    }
    return text;
  }

  quoted(token) {
    return this.special(token) ? inLine(this.pieces[token] ?? 'end') : `“${this.alone(token)}”`;
  }
}
