// How tokens read: what has no shape of its own (control characters, bidirectional marks) is made visible.

const SHAPELESS = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

// What is written in its place stands by itself: its letters turn no text around. Marks that are as good as a letter of
// their direction do so still, while embeddings and overrides do nothing.
const DIRECTED = '\u061c\u200e\u200f';
const visible = (text) => text.replace(SHAPELESS, (mark) => {
  if (mark === '\t') return '⇥';
  const code = mark.codePointAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `\u2066⟨U+${code}⟩\u2069${DIRECTED.includes(mark) ? mark : ''}`;
});
const inLine = (text) => visible(text).replaceAll('\n', '↵');

// Letters that read from right to left, as lopa_core/view/direction.py has them: Hebrew, Arabic, Syriac, Adlam and others.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200f\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

// A text inside a sentence in another direction: it keeps its order and leaves the sentence its own.
const apart = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text);

// The direction of a paragraph is that of its first letter, as browsers have it too.
function fromTheRight(paragraph) {
  const letter = paragraph.replace(/\u2066[^\u2069]*\u2069/gu, '').match(/[\p{L}\u061c\u200e\u200f]/u);
  return letter !== null && RIGHT_TO_LEFT.test(letter[0]);
}

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
    return apart(this.special(token) ? inLine(this.pieces[token] ?? 'end') : `“${this.alone(token)}”`);
  }
}
